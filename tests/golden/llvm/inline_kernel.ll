declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
define i64 @arena_bytes(ptr %run, ptr %numbers)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %run, i64 0
  %.2 = load i64, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %run, i64 13
  store i64 64, ptr %.3, align 8
  ret i64 64
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.9 = alloca ptr
  %.10 = alloca [64 x i8], align 64
  %.11 = alloca [64 x i8], align 64
  %.13 = alloca i64
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i8, ptr %arena, i64 0
  %.6 = getelementptr inbounds float, ptr %.2, i64 0
  %.7 = load <4 x float>, ptr %.6, align 4, !invariant.load !{}
  %.8 = getelementptr inbounds float, ptr %.4, i64 0
  store <4 x float> %.7, ptr %.8, align 4
  store ptr %.4, ptr %.9, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %.10, ptr %.4, i64 16, i1 false)
  %.12 = getelementptr inbounds i8, ptr %.5, i64 64
  store i64 0, ptr %.13, align 8
  br label %tight.14
tight.14:
  %.16 = load i64, ptr %.13, align 8
  %.17 = icmp slt i64 %.16, 10
  br i1 %.17, label %next.18, label %end.15
next.18:
  %.19 = getelementptr inbounds float, ptr %.10, i64 0
  %.20 = load float, ptr %.19, align 4
  %.21 = fmul contract float %.20, 0x3FE0000000000000
  %.22 = getelementptr inbounds float, ptr %.10, i64 3
  %.23 = load float, ptr %.22, align 4
  %.24 = fadd contract float %.21, %.23
  %.25 = getelementptr inbounds float, ptr %.11, i64 0
  store float %.24, ptr %.25, align 4
  %.26 = getelementptr inbounds float, ptr %.10, i64 1
  %.27 = load float, ptr %.26, align 4
  %.28 = fmul contract float %.27, 0x3FE0000000000000
  %.29 = getelementptr inbounds float, ptr %.10, i64 2
  %.30 = load float, ptr %.29, align 4
  %.31 = fadd contract float %.28, %.30
  %.32 = getelementptr inbounds float, ptr %.11, i64 1
  store float %.31, ptr %.32, align 4
  %.33 = getelementptr inbounds float, ptr %.10, i64 2
  %.34 = load float, ptr %.33, align 4
  %.35 = fmul contract float %.34, 0x3FE0000000000000
  %.36 = getelementptr inbounds float, ptr %.10, i64 1
  %.37 = load float, ptr %.36, align 4
  %.38 = fadd contract float %.35, %.37
  %.39 = getelementptr inbounds float, ptr %.11, i64 2
  store float %.38, ptr %.39, align 4
  %.40 = getelementptr inbounds float, ptr %.10, i64 3
  %.41 = load float, ptr %.40, align 4
  %.42 = fmul contract float %.41, 0x3FE0000000000000
  %.43 = getelementptr inbounds float, ptr %.10, i64 0
  %.44 = load float, ptr %.43, align 4
  %.45 = fadd contract float %.42, %.44
  %.46 = getelementptr inbounds float, ptr %.11, i64 3
  store float %.45, ptr %.46, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr %.10, ptr %.11, i64 16, i1 false)
  %.47 = add i64 %.16, 1
  store i64 %.47, ptr %.13, align 8
  br label %tight.14
end.15:
  call void @llvm.memcpy.p0.p0.i64(ptr %.4, ptr %.10, i64 16, i1 false)
  %.48 = getelementptr inbounds i64, ptr %run, i64 1
  %.49 = load i64, ptr %.48, align 8
  ret i64 %.49
}
