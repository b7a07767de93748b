; As exchanged-reads.ll, with what `lanai_rt::Register` puts behind each read.
target triple = "lanai"
target datalayout = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64"

define fastcc i32 @elapsed(i32 %since) {
  %status = load volatile i32, ptr inttoptr (i32 -432 to ptr)
  call void asm sideeffect "", ""()
  %clock = load volatile i32, ptr inttoptr (i32 -408 to ptr)
  call void asm sideeffect "", ""()
  %late = icmp ugt i32 %clock, 100
  br i1 %late, label %over, label %within
over:
  ret i32 %status
within:
  %sum = add i32 %status, %since
  ret i32 %sum
}
