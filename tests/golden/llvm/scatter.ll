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
  call void @kernel0.run(ptr %run, ptr %.6)
  call void @kernel1.run(ptr %run, ptr %.2, ptr %.4, ptr %.6)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  ret i64 %.8
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.21, %done.16 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 8, %.7
  %.9 = select i1 %.8, i64 8, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 8
  %.12 = mul i64 %.11, 8
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.20, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds float, ptr %p0, i64 %.17
  store <8 x float> splat (float 0x0000000000000000), ptr %.19, align 4
  %.20 = add nsw i64 %.17, 8
  br label %loop.14
done.16:
  %.21 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, i64 0, i64 1)
  ret void
}
define internal void @kernel1(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i64 %begin, i64 %end)  {
entry:
  %.15 = alloca i64
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.26, %done.8 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  br label %loop.6
loop.6:
  %.9 = phi i64 [ 0, %body.2 ], [ %.25, %join.18 ]
  %.10 = icmp slt i64 %.9, 50
  br i1 %.10, label %body.7, label %done.8
body.7:
  %.11 = getelementptr inbounds float, ptr %p0, i64 %.9
  %.12 = load float, ptr %.11, align 4
  %.13 = getelementptr inbounds i64, ptr %p1, i64 %.9
  %.14 = load i64, ptr %.13, align 8
  store i64 %.14, ptr %.15, align 8
  %.16 = icmp uge i64 %.14, 8
  br i1 %.16, label %then.17, label %join.18, !prof !{!"branch_weights", i32 1, i32 2000}
then.17:
  %.19 = call i64 @weft.outside(ptr %run, i64 1, i64 %.14, i64 8, i1 true, i1 true)
  store i64 %.19, ptr %.15, align 8
  br label %join.18
join.18:
  %.20 = load i64, ptr %.15, align 8
  %.21 = getelementptr inbounds float, ptr %p2, i64 %.20
  %.22 = load float, ptr %.21, align 4
  %.23 = fadd contract float %.22, %.12
  %.24 = getelementptr inbounds float, ptr %p2, i64 %.20
  store float %.23, ptr %.24, align 4
  %.25 = add nsw i64 %.9, 1
  br label %loop.6
done.8:
  %.26 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @weft.fail(ptr %run, i64 %error, i64 %detail0, i64 %detail1, i64 %detail2) noinline cold nounwind willreturn memory(argmem: readwrite) ; folded
define internal i64 @weft.outside(ptr %run, i64 %error, i64 %index, i64 %size, i1 %from_end, i1 %checks) noinline cold nounwind willreturn memory(argmem: readwrite) ; folded
define internal void @kernel1.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel1(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 1)
  ret void
}
