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
  %.11 = alloca i64
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
  store i64 0, ptr %.11, align 8
  br label %tight.12
tight.12:
  %.14 = load i64, ptr %.11, align 8
  %.15 = and i64 %.14, 65535
  %.16 = icmp eq i64 %.15, 65535
  br i1 %.16, label %then.17, label %join.18, !prof !{!"branch_weights", i32 1, i32 2000}
then.17:
  call void @weft.poll(ptr %run)
  %.19 = getelementptr inbounds i64, ptr %run, i64 5
  %.20 = load i64, ptr %.19, align 8
  %.21 = icmp eq i64 %.20, 0
  br i1 %.21, label %next.22, label %end.13
next.22:
  br label %join.18
join.18:
  %.23 = load float, ptr %.7, align 4
  %.24 = fcmp olt float %.23, 0x4059000000000000
  br i1 %.24, label %next.25, label %end.13
next.25:
  %.26 = load float, ptr %.7, align 4
  %.27 = fmul contract float %.26, 0x4000000000000000
  store float %.27, ptr %.7, align 4
  %.28 = add i64 %.14, 1
  store i64 %.28, ptr %.9, align 8
  %.29 = add i64 %.14, 1
  store i64 %.29, ptr %.11, align 8
  br label %tight.12
end.13:
  %.30 = load float, ptr %.7, align 4
  %.31 = getelementptr inbounds i64, ptr %results, i64 0
  %.32 = load ptr, ptr %.31, align 8
  store float %.30, ptr %.32, align 4
  %.33 = getelementptr inbounds i64, ptr %run, i64 1
  %.34 = load i64, ptr %.33, align 8
  ret i64 %.34
}
define internal void @weft.poll(ptr %run) noinline cold nounwind willreturn ; folded
