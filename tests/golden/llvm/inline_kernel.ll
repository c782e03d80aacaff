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
  %.18 = alloca ptr
  %.19 = alloca [64 x i8], align 64
  %.20 = alloca [64 x i8], align 64
  %.22 = alloca i64
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds i8, ptr %arena, i64 0
  %.6 = getelementptr inbounds float, ptr %.2, i64 0
  %.7 = load float, ptr %.6, align 4
  %.8 = getelementptr inbounds float, ptr %.4, i64 0
  store float %.7, ptr %.8, align 4
  %.9 = getelementptr inbounds float, ptr %.2, i64 1
  %.10 = load float, ptr %.9, align 4
  %.11 = getelementptr inbounds float, ptr %.4, i64 1
  store float %.10, ptr %.11, align 4
  %.12 = getelementptr inbounds float, ptr %.2, i64 2
  %.13 = load float, ptr %.12, align 4
  %.14 = getelementptr inbounds float, ptr %.4, i64 2
  store float %.13, ptr %.14, align 4
  %.15 = getelementptr inbounds float, ptr %.2, i64 3
  %.16 = load float, ptr %.15, align 4
  %.17 = getelementptr inbounds float, ptr %.4, i64 3
  store float %.16, ptr %.17, align 4
  store ptr %.4, ptr %.18, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %.19, ptr %.4, i64 16, i1 false)
  %.21 = getelementptr inbounds i8, ptr %.5, i64 64
  store i64 0, ptr %.22, align 8
  br label %while.23
while.23:
  %.25 = load i64, ptr %.22, align 8
  %.26 = icmp slt i64 %.25, 10
  %.27 = and i64 %.25, 255
  %.28 = icmp eq i64 %.27, 255
  br i1 %.28, label %then.29, label %join.30
then.29:
  call void @weft.poll(ptr %run)
  br label %join.30
join.30:
  %.31 = getelementptr inbounds i64, ptr %run, i64 5
  %.32 = load i64, ptr %.31, align 8
  %.33 = icmp eq i64 %.32, 0
  %.34 = and i1 %.26, %.33
  br i1 %.34, label %next.35, label %end.24
next.35:
  %.36 = getelementptr inbounds float, ptr %.19, i64 0
  %.37 = load float, ptr %.36, align 4
  %.38 = fmul contract float %.37, 0x3FE0000000000000
  %.39 = getelementptr inbounds float, ptr %.19, i64 3
  %.40 = load float, ptr %.39, align 4
  %.41 = fadd contract float %.38, %.40
  %.42 = getelementptr inbounds float, ptr %.20, i64 0
  store float %.41, ptr %.42, align 4
  %.43 = getelementptr inbounds float, ptr %.19, i64 1
  %.44 = load float, ptr %.43, align 4
  %.45 = fmul contract float %.44, 0x3FE0000000000000
  %.46 = getelementptr inbounds float, ptr %.19, i64 2
  %.47 = load float, ptr %.46, align 4
  %.48 = fadd contract float %.45, %.47
  %.49 = getelementptr inbounds float, ptr %.20, i64 1
  store float %.48, ptr %.49, align 4
  %.50 = getelementptr inbounds float, ptr %.19, i64 2
  %.51 = load float, ptr %.50, align 4
  %.52 = fmul contract float %.51, 0x3FE0000000000000
  %.53 = getelementptr inbounds float, ptr %.19, i64 1
  %.54 = load float, ptr %.53, align 4
  %.55 = fadd contract float %.52, %.54
  %.56 = getelementptr inbounds float, ptr %.20, i64 2
  store float %.55, ptr %.56, align 4
  %.57 = getelementptr inbounds float, ptr %.19, i64 3
  %.58 = load float, ptr %.57, align 4
  %.59 = fmul contract float %.58, 0x3FE0000000000000
  %.60 = getelementptr inbounds float, ptr %.19, i64 0
  %.61 = load float, ptr %.60, align 4
  %.62 = fadd contract float %.59, %.61
  %.63 = getelementptr inbounds float, ptr %.20, i64 3
  store float %.62, ptr %.63, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr %.19, ptr %.20, i64 16, i1 false)
  %.64 = add i64 %.25, 1
  store i64 %.64, ptr %.22, align 8
  br label %while.23
end.24:
  call void @llvm.memcpy.p0.p0.i64(ptr %.4, ptr %.19, i64 16, i1 false)
  %.65 = getelementptr inbounds i64, ptr %run, i64 1
  %.66 = load i64, ptr %.65, align 8
  ret i64 %.66
}
define internal void @weft.poll(ptr %run) ; folded
