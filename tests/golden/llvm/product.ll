declare void @weft_gemm_f32(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, i64, i64)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %run, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 0, ptr %.3, align 8
  ret i64 0
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %arguments, i64 1
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i64, ptr %results, i64 0
  %.6 = load ptr, ptr %.5, align 8
  call void @dot_general0(ptr %run, ptr %.2, ptr %.4, ptr %.6)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  %.9 = icmp eq i64 %.8, -4
  br i1 %.9, label %no.memory, label %next.10, !prof !{!"branch_weights", i32 1, i32 2000}
next.10:
  %.11 = getelementptr inbounds i64, ptr %run, i64 1
  %.12 = load i64, ptr %.11, align 8
  ret i64 %.12
no.memory:
  ret i64 zeroinitializer
}
define internal void @dot_general0(ptr %run, ptr %p0, ptr %p1, ptr %p2) ; folded
