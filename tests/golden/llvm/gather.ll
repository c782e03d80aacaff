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
  call void @kernel0.run(ptr %run, ptr %.4, ptr %.2, ptr %.6)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  ret i64 %.8
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.48, %done.20 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = srem i64 %.4, 1
  %.7 = sdiv i64 %.4, 1
  %.8 = mul i64 %.6, 4096
  %.9 = add i64 %.8, 4096
  %.10 = icmp slt i64 8, %.9
  %.11 = select i1 %.10, i64 8, i64 %.9
  %.12 = getelementptr inbounds i64, ptr %p0, i64 %.7
  %.13 = load i64, ptr %.12, align 8
  %.14 = sub i64 %.11, %.8
  %.15 = sdiv i64 %.14, 8
  %.16 = mul i64 %.15, 8
  %.17 = add i64 %.8, %.16
  br label %loop.18
loop.18:
  %.21 = phi i64 [ %.8, %body.2 ], [ %.47, %join.30 ]
  %.22 = icmp slt i64 %.21, %.17
  br i1 %.22, label %body.19, label %done.20
body.19:
  %.23 = icmp slt i64 %.13, 0
  %.24 = add i64 %.13, 20
  %.25 = select i1 %.23, i64 %.24, i64 %.13
  %.26 = icmp slt i64 %.25, 0
  %.27 = icmp sge i64 %.25, 20
  %.28 = or i1 %.26, %.27
  br i1 %.28, label %then.29, label %join.30
then.29:
  %.31 = getelementptr inbounds i64, ptr %run, i64 1
  %.32 = load i64, ptr %.31, align 8
  %.33 = icmp eq i64 %.32, 0
  br i1 %.33, label %then.34, label %join.35
then.34:
  store i64 1, ptr %.31, align 8
  %.36 = getelementptr inbounds i64, ptr %run, i64 5
  store i64 1, ptr %.36, align 8
  %.37 = getelementptr inbounds i64, ptr %run, i64 2
  store i64 %.13, ptr %.37, align 8
  %.38 = getelementptr inbounds i64, ptr %run, i64 3
  store i64 20, ptr %.38, align 8
  br label %join.35
join.35:
  br label %join.30
join.30:
  %.39 = select i1 %.28, i64 0, i64 %.25
  %.40 = mul i64 %.39, 8
  %.41 = add i64 %.21, %.40
  %.42 = getelementptr inbounds float, ptr %p1, i64 %.41
  %.43 = load <8 x float>, ptr %.42, align 4
  %.44 = mul i64 %.7, 8
  %.45 = add i64 %.44, %.21
  %.46 = getelementptr inbounds float, ptr %p2, i64 %.45
  store <8 x float> %.43, ptr %.46, align 4
  %.47 = add nsw i64 %.21, 8
  br label %loop.18
done.20:
  %.48 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 5)
  ret void
}
