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
  %.5 = alloca float, align 16
  %.6 = alloca [3 x i64], align 8
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.7 = getelementptr inbounds i64, ptr %.6, i64 0
  store ptr %.2, ptr %.7, align 8
  %.8 = getelementptr inbounds i64, ptr %.6, i64 1
  store i64 10, ptr %.8, align 8
  %.9 = getelementptr inbounds i64, ptr %.6, i64 2
  store ptr %.5, ptr %.9, align 8
  %.10 = getelementptr inbounds i64, ptr %run, i64 7
  %.11 = load ptr, ptr %.10, align 8
  call void %.11(ptr %run, i64 0, ptr %.6)
  %.12 = getelementptr inbounds float, ptr %.5, i64 0
  %.13 = load float, ptr %.12, align 4
  %.14 = getelementptr inbounds i64, ptr %results, i64 0
  %.15 = load ptr, ptr %.14, align 8
  store float %.13, ptr %.15, align 4
  %.16 = getelementptr inbounds i64, ptr %run, i64 1
  %.17 = load i64, ptr %.16, align 8
  ret i64 %.17
}
