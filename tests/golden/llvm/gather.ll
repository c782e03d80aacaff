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
  %.23 = alloca i64
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.37, %done.20 ]
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
  %.21 = phi i64 [ %.8, %body.2 ], [ %.36, %join.26 ]
  %.22 = icmp slt i64 %.21, %.17
  br i1 %.22, label %body.19, label %done.20
body.19:
  store i64 %.13, ptr %.23, align 8
  %.24 = icmp uge i64 %.13, 20
  br i1 %.24, label %then.25, label %join.26, !prof !{!"branch_weights", i32 1, i32 2000}
then.25:
  %.27 = call i64 @weft.outside(ptr %run, i64 1, i64 %.13, i64 20, i1 true, i1 true)
  store i64 %.27, ptr %.23, align 8
  br label %join.26
join.26:
  %.28 = load i64, ptr %.23, align 8
  %.29 = mul i64 %.28, 8
  %.30 = add i64 %.21, %.29
  %.31 = getelementptr inbounds float, ptr %p1, i64 %.30
  %.32 = load <8 x float>, ptr %.31, align 4
  %.33 = mul i64 %.7, 8
  %.34 = add i64 %.33, %.21
  %.35 = getelementptr inbounds float, ptr %p2, i64 %.34
  store <8 x float> %.32, ptr %.35, align 4
  %.36 = add nsw i64 %.21, 8
  br label %loop.18
done.20:
  %.37 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @weft.fail(ptr %run, i64 %error, i64 %detail0, i64 %detail1, i64 %detail2) noinline cold nounwind willreturn memory(argmem: readwrite) ; folded
define internal i64 @weft.outside(ptr %run, i64 %error, i64 %index, i64 %size, i1 %from_end, i1 %checks) noinline cold nounwind willreturn memory(argmem: readwrite) ; folded
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 5)
  ret void
}
