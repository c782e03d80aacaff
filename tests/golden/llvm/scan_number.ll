declare i64 @llvm.readcyclecounter()
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
  %.6 = load float, ptr %.5, align 4
  store float %.6, ptr %.7, align 4
  %.8 = getelementptr inbounds i8, ptr %arena, i64 0
  store i64 0, ptr %.9, align 8
  br label %while.10
while.10:
  %.12 = load i64, ptr %.9, align 8
  %.13 = icmp slt i64 %.12, 50
  %.14 = and i64 %.12, 255
  %.15 = icmp eq i64 %.14, 255
  br i1 %.15, label %then.16, label %join.17
then.16:
  call void @weft.poll(ptr %run)
  br label %join.17
join.17:
  %.18 = getelementptr inbounds i64, ptr %run, i64 5
  %.19 = load i64, ptr %.18, align 8
  %.20 = icmp eq i64 %.19, 0
  %.21 = and i1 %.13, %.20
  br i1 %.21, label %next.22, label %end.11
next.22:
  %.23 = mul i64 %.12, 4
  %.24 = getelementptr inbounds i8, ptr %.2, i64 %.23
  %.25 = mul i64 %.12, 4
  %.26 = getelementptr inbounds i8, ptr %.4, i64 %.25
  %.27 = load float, ptr %.7, align 4
  %.28 = getelementptr inbounds float, ptr %.24, i64 0
  %.29 = load float, ptr %.28, align 4
  %.30 = fmul contract float %.27, 0x3FE0000000000000
  %.31 = fadd contract float %.30, %.29
  store float %.27, ptr %.26, align 4
  store float %.31, ptr %.7, align 4
  %.32 = add i64 %.12, 1
  store i64 %.32, ptr %.9, align 8
  br label %while.10
end.11:
  %.33 = load float, ptr %.7, align 4
  %.34 = getelementptr inbounds i64, ptr %run, i64 1
  %.35 = load i64, ptr %.34, align 8
  ret i64 %.35
}
define internal void @weft.poll(ptr %run) ; folded
