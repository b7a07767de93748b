; Fault 1: a bit is cleared only if another word is not zero, and the result is compared with zero. The comparison becomes part of the
; conditional instruction; where its condition fails, the flags are those of the first comparison.
target triple = "lanai"
target datalayout = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64"

define fastcc i32 @is_idle(i32 %state, i32 %mask, i32 %pending, i32 %unused) {
  %some = icmp ne i32 %pending, 0
  %flipped = select i1 %some, i32 %mask, i32 0
  %next = xor i32 %state, %flipped
  %idle = icmp eq i32 %next, 0
  %result = select i1 %idle, i32 3, i32 5
  ret i32 %result
}
