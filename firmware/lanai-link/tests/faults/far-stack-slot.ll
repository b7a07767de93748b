; Fault 3: a half word that lies more than 512 bytes from the frame pointer. Its offset is stored in place of it.
target triple = "lanai"
target datalayout = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64"

define internal fastcc void @fill(ptr %buffer) noinline {
  store volatile i8 1, ptr %buffer
  ret void
}
define fastcc i32 @checksum(i32 %seed) {
  %buffer = alloca [700 x i8], align 4
  %carry = alloca i16, align 2
  %mixed = mul i32 %seed, 9
  %half = trunc i32 %mixed to i16
  store volatile i16 %half, ptr %carry
  call fastcc void @fill(ptr %buffer)
  %again = load volatile i16, ptr %carry
  %wide = zext i16 %again to i32
  ret i32 %wide
}
