; Fault 2: a loop that writes a counter's values. The store that also moves its base may be placed behind the comparison of the moved
; base: one element too many is written.
target triple = "lanai"
target datalayout = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64"

define fastcc void @number(ptr %from, ptr %to, i32 %first) {
start:
  br label %round
round:
  %at = phi ptr [ %from, %start ], [ %next, %round ]
  %value = phi i32 [ %first, %start ], [ %more, %round ]
  store i32 %value, ptr %at, align 4
  %more = add i32 %value, 3
  %next = getelementptr i8, ptr %at, i32 4
  %again = icmp ult ptr %next, %to
  br i1 %again, label %round, label %end
end:
  ret void
}
