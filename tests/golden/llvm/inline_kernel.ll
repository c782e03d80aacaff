declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1 immarg)
declare i64 @llvm.readcyclecounter()
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
  %.7 = load <4 x float>, ptr %.6, align 4
  %.8 = getelementptr inbounds float, ptr %.4, i64 0
  store <4 x float> %.7, ptr %.8, align 4
  store ptr %.4, ptr %.9, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %.10, ptr %.4, i64 16, i1 false)
  %.12 = getelementptr inbounds i8, ptr %.5, i64 64
  store i64 0, ptr %.13, align 8
  br label %while.14
while.14:
  %.16 = load i64, ptr %.13, align 8
  %.17 = icmp slt i64 %.16, 10
  %.18 = and i64 %.16, 255
  %.19 = icmp eq i64 %.18, 255
  br i1 %.19, label %then.20, label %join.21
then.20:
  call void @weft.poll(ptr %run)
  br label %join.21
join.21:
  %.22 = getelementptr inbounds i64, ptr %run, i64 5
  %.23 = load i64, ptr %.22, align 8
  %.24 = icmp eq i64 %.23, 0
  %.25 = and i1 %.17, %.24
  br i1 %.25, label %next.26, label %end.15
next.26:
  %.27 = getelementptr inbounds float, ptr %.10, i64 0
  %.28 = load float, ptr %.27, align 4
  %.29 = fmul contract float %.28, 0x3FE0000000000000
  %.30 = getelementptr inbounds float, ptr %.10, i64 3
  %.31 = load float, ptr %.30, align 4
  %.32 = fadd contract float %.29, %.31
  %.33 = getelementptr inbounds float, ptr %.11, i64 0
  store float %.32, ptr %.33, align 4
  %.34 = getelementptr inbounds float, ptr %.10, i64 1
  %.35 = load float, ptr %.34, align 4
  %.36 = fmul contract float %.35, 0x3FE0000000000000
  %.37 = getelementptr inbounds float, ptr %.10, i64 2
  %.38 = load float, ptr %.37, align 4
  %.39 = fadd contract float %.36, %.38
  %.40 = getelementptr inbounds float, ptr %.11, i64 1
  store float %.39, ptr %.40, align 4
  %.41 = getelementptr inbounds float, ptr %.10, i64 2
  %.42 = load float, ptr %.41, align 4
  %.43 = fmul contract float %.42, 0x3FE0000000000000
  %.44 = getelementptr inbounds float, ptr %.10, i64 1
  %.45 = load float, ptr %.44, align 4
  %.46 = fadd contract float %.43, %.45
  %.47 = getelementptr inbounds float, ptr %.11, i64 2
  store float %.46, ptr %.47, align 4
  %.48 = getelementptr inbounds float, ptr %.10, i64 3
  %.49 = load float, ptr %.48, align 4
  %.50 = fmul contract float %.49, 0x3FE0000000000000
  %.51 = getelementptr inbounds float, ptr %.10, i64 0
  %.52 = load float, ptr %.51, align 4
  %.53 = fadd contract float %.50, %.52
  %.54 = getelementptr inbounds float, ptr %.11, i64 3
  store float %.53, ptr %.54, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr %.10, ptr %.11, i64 16, i1 false)
  %.55 = add i64 %.16, 1
  store i64 %.55, ptr %.13, align 8
  br label %while.14
end.15:
  call void @llvm.memcpy.p0.p0.i64(ptr %.4, ptr %.10, i64 16, i1 false)
  %.56 = getelementptr inbounds i64, ptr %run, i64 1
  %.57 = load i64, ptr %.56, align 8
  ret i64 %.57
}
define internal void @weft.poll(ptr %run) ; folded
