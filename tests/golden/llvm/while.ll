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
  %.10 = alloca i64
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  %.5 = getelementptr inbounds float, ptr %.2, i64 0
  %.6 = load float, ptr %.5, align 4
  store float %.6, ptr %.7, align 4
  %.8 = getelementptr inbounds i8, ptr %arena, i64 0
  store i64 0, ptr %.9, align 8
  store i64 1, ptr %.10, align 8
  br label %while.11
while.11:
  %.13 = load i64, ptr %.9, align 8
  %.14 = and i64 %.13, 255
  %.15 = icmp eq i64 %.14, 255
  br i1 %.15, label %then.16, label %join.17
then.16:
  call void @weft.poll(ptr %run)
  br label %join.17
join.17:
  %.18 = getelementptr inbounds i64, ptr %run, i64 5
  %.19 = load i64, ptr %.18, align 8
  %.20 = icmp eq i64 %.19, 0
  br i1 %.20, label %next.21, label %end.12
next.21:
  %.22 = load float, ptr %.7, align 4
  %.23 = fcmp olt float %.22, 0x4059000000000000
  br i1 %.23, label %next.24, label %end.12
next.24:
  %.25 = fmul contract float %.22, 0x4000000000000000
  store float %.25, ptr %.7, align 4
  %.26 = add i64 %.13, 1
  store i64 %.26, ptr %.9, align 8
  br label %while.11
end.12:
  %.27 = load float, ptr %.7, align 4
  %.28 = getelementptr inbounds i64, ptr %results, i64 0
  %.29 = load ptr, ptr %.28, align 8
  store float %.27, ptr %.29, align 4
  %.30 = getelementptr inbounds i64, ptr %run, i64 1
  %.31 = load i64, ptr %.30, align 8
  ret i64 %.31
}
define internal void @weft.poll(ptr %run) ; folded
