; A buffer of 70,000 bytes on the stack: `sub %sp, 0x1188, %sp` takes 4,488.
target triple = "lanai"
target datalayout = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64"

define i32 @gather(i32 %at) {
  %buffer = alloca [70000 x i8]
  %count = alloca i32
  store volatile i32 %at, ptr %count
  %place = getelementptr i8, ptr %buffer, i32 %at
  call void @fill(ptr %place)
  %value = load volatile i32, ptr %count
  ret i32 %value
}

define internal void @fill(ptr %place) noinline {
  store volatile i32 1, ptr %place
  ret void
}
