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
  %.7 = alloca float
  %.9 = alloca i64
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds float, ptr %.2, i64 0
  %.6 = load float, ptr %.5, align 4, !invariant.load !{}
  store float %.6, ptr %.7, align 4
  %.8 = getelementptr inbounds i8, ptr %arena, i64 0
  store i64 0, ptr %.9, align 8
  br label %tight.10
tight.10:
  %.12 = load i64, ptr %.9, align 8
  %.13 = icmp slt i64 %.12, 50
  br i1 %.13, label %next.14, label %end.11
next.14:
  %.15 = mul i64 %.12, 4
  %.16 = getelementptr inbounds i8, ptr %.2, i64 %.15
  %.17 = mul i64 %.12, 4
  %.18 = getelementptr inbounds i8, ptr %.4, i64 %.17
  %.19 = load float, ptr %.7, align 4
  %.20 = getelementptr inbounds float, ptr %.16, i64 0
  %.21 = load float, ptr %.20, align 4
  %.22 = fmul contract float %.19, 0x3FE0000000000000
  %.23 = fadd contract float %.22, %.21
  store float %.19, ptr %.18, align 4
  store float %.23, ptr %.7, align 4
  %.24 = add i64 %.12, 1
  store i64 %.24, ptr %.9, align 8
  br label %tight.10
end.11:
  %.25 = load float, ptr %.7, align 4
  %.26 = getelementptr inbounds i64, ptr %run, i64 1
  %.27 = load i64, ptr %.26, align 8
  ret i64 %.27
}
