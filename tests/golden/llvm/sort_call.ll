declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
declare <8 x i32> @llvm.umin.v8i32(<8 x i32>, <8 x i32>)
declare <8 x i32> @llvm.umax.v8i32(<8 x i32>, <8 x i32>)
declare void @weft_parallel(ptr, ptr, ptr, i64, i64)
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
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  call void @sort0(ptr %run, ptr %.2, ptr %.4)
  %.5 = getelementptr inbounds i64, ptr %run, i64 1
  %.6 = load i64, ptr %.5, align 8
  %.7 = icmp eq i64 %.6, -4
  br i1 %.7, label %no.memory, label %next.8, !prof !{!"branch_weights", i32 1, i32 2000}
next.8:
  %.9 = getelementptr inbounds i64, ptr %run, i64 1
  %.10 = load i64, ptr %.9, align 8
  ret i64 %.10
no.memory:
  ret i64 zeroinitializer
}
define internal void @sort0(ptr %run, ptr %p0, ptr %p1) ; folded
define internal void @sort0.task0(ptr %run, ptr %data, i64 %begin, i64 %end) ; folded
define internal ptr @weft.take(ptr %run, i64 %bytes) ; folded
define internal void @sort.network.v8i32.1(ptr %plane0, i64 %count) ; folded
