declare <32 x i32> @llvm.masked.load.v32i32.p0(ptr, i32 immarg, <32 x i1>, <32 x i32>)
declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, i32 immarg, <32 x i1>)
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
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.4, ptr %.6)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  ret i64 %.8
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i64 %begin, i64 %end)  {
entry:
  br label %loop.1
loop.1:
  %.4 = phi i64 [ %begin, %entry ], [ %.124, %join.70 ]
  %.5 = icmp slt i64 %.4, %end
  br i1 %.5, label %body.2, label %done.3
body.2:
  %.6 = mul i64 %.4, 4096
  %.7 = add i64 %.6, 4096
  %.8 = icmp slt i64 40, %.7
  %.9 = select i1 %.8, i64 40, i64 %.7
  %.10 = sub i64 %.9, %.6
  %.11 = sdiv i64 %.10, 32
  %.12 = mul i64 %.11, 32
  %.13 = add i64 %.6, %.12
  br label %loop.14
loop.14:
  %.17 = phi i64 [ %.6, %body.2 ], [ %.67, %body.15 ]
  %.18 = icmp slt i64 %.17, %.13
  br i1 %.18, label %body.15, label %done.16
body.15:
  %.19 = getelementptr inbounds i32, ptr %p0, i64 %.17
  %.20 = load <32 x i32>, ptr %.19, align 4
  %.21 = icmp eq <32 x i32> splat (i32 3), splat (i32 0)
  %.22 = icmp eq <32 x i32> splat (i32 3), splat (i32 -1)
  %.23 = or <32 x i1> %.21, %.22
  %.24 = select <32 x i1> %.23, <32 x i32> splat (i32 1), <32 x i32> splat (i32 3)
  %.25 = sub <32 x i32> splat (i32 0), %.20
  %.26 = sitofp <32 x i32> %.20 to <32 x double>
  %.27 = sitofp <32 x i32> %.24 to <32 x double>
  %.28 = fdiv <32 x double> %.26, %.27
  %.29 = fptosi <32 x double> %.28 to <32 x i32>
  %.30 = select <32 x i1> %.22, <32 x i32> %.25, <32 x i32> %.29
  %.31 = select <32 x i1> %.21, <32 x i32> splat (i32 0), <32 x i32> %.30
  %.32 = sub <32 x i32> %.31, splat (i32 1)
  %.33 = mul <32 x i32> %.31, splat (i32 3)
  %.34 = sub <32 x i32> %.20, %.33
  %.35 = icmp ne <32 x i32> %.34, splat (i32 0)
  %.36 = xor <32 x i32> %.34, splat (i32 3)
  %.37 = icmp slt <32 x i32> %.36, splat (i32 0)
  %.38 = and <32 x i1> %.35, %.37
  %.39 = icmp ne <32 x i32> splat (i32 3), splat (i32 0)
  %.40 = and <32 x i1> %.38, %.39
  %.41 = select <32 x i1> %.40, <32 x i32> %.32, <32 x i32> %.31
  %.42 = getelementptr inbounds i32, ptr %p1, i64 %.17
  %.43 = load <32 x i32>, ptr %.42, align 4
  %.44 = add <32 x i32> %.41, %.43
  %.45 = icmp eq <32 x i32> splat (i32 7), splat (i32 0)
  %.46 = icmp eq <32 x i32> splat (i32 7), splat (i32 -1)
  %.47 = or <32 x i1> %.45, %.46
  %.48 = select <32 x i1> %.47, <32 x i32> splat (i32 1), <32 x i32> splat (i32 7)
  %.49 = sub <32 x i32> splat (i32 0), %.44
  %.50 = sitofp <32 x i32> %.44 to <32 x double>
  %.51 = sitofp <32 x i32> %.48 to <32 x double>
  %.52 = fdiv <32 x double> %.50, %.51
  %.53 = fptosi <32 x double> %.52 to <32 x i32>
  %.54 = select <32 x i1> %.46, <32 x i32> %.49, <32 x i32> %.53
  %.55 = select <32 x i1> %.45, <32 x i32> splat (i32 0), <32 x i32> %.54
  %.56 = mul <32 x i32> %.55, splat (i32 7)
  %.57 = sub <32 x i32> %.44, %.56
  %.58 = icmp eq <32 x i32> splat (i32 7), splat (i32 0)
  %.59 = select <32 x i1> %.58, <32 x i32> splat (i32 0), <32 x i32> %.57
  %.60 = icmp ne <32 x i32> %.59, splat (i32 0)
  %.61 = xor <32 x i32> %.59, splat (i32 7)
  %.62 = icmp slt <32 x i32> %.61, splat (i32 0)
  %.63 = and <32 x i1> %.60, %.62
  %.64 = add <32 x i32> %.59, splat (i32 7)
  %.65 = select <32 x i1> %.63, <32 x i32> %.64, <32 x i32> %.59
  %.66 = getelementptr inbounds i32, ptr %p2, i64 %.17
  store <32 x i32> %.65, ptr %.66, align 4
  %.67 = add nsw i64 %.17, 32
  br label %loop.14
done.16:
  %.68 = icmp slt i64 %.13, %.9
  br i1 %.68, label %then.69, label %join.70
then.69:
  %.71 = sub i64 %.9, %.13
  %.72 = trunc i64 %.71 to i32
  %.73 = insertelement <32 x i32> poison, i32 %.72, i32 0
  %.74 = shufflevector <32 x i32> %.73, <32 x i32> poison, <32 x i32> zeroinitializer
  %.75 = icmp slt <32 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>, %.74
  %.76 = getelementptr inbounds i32, ptr %p0, i64 %.13
  %.77 = call <32 x i32> @llvm.masked.load.v32i32.p0(ptr %.76, i32 4, <32 x i1> %.75, <32 x i32> splat (i32 0))
  %.78 = icmp eq <32 x i32> splat (i32 3), splat (i32 0)
  %.79 = icmp eq <32 x i32> splat (i32 3), splat (i32 -1)
  %.80 = or <32 x i1> %.78, %.79
  %.81 = select <32 x i1> %.80, <32 x i32> splat (i32 1), <32 x i32> splat (i32 3)
  %.82 = sub <32 x i32> splat (i32 0), %.77
  %.83 = sitofp <32 x i32> %.77 to <32 x double>
  %.84 = sitofp <32 x i32> %.81 to <32 x double>
  %.85 = fdiv <32 x double> %.83, %.84
  %.86 = fptosi <32 x double> %.85 to <32 x i32>
  %.87 = select <32 x i1> %.79, <32 x i32> %.82, <32 x i32> %.86
  %.88 = select <32 x i1> %.78, <32 x i32> splat (i32 0), <32 x i32> %.87
  %.89 = sub <32 x i32> %.88, splat (i32 1)
  %.90 = mul <32 x i32> %.88, splat (i32 3)
  %.91 = sub <32 x i32> %.77, %.90
  %.92 = icmp ne <32 x i32> %.91, splat (i32 0)
  %.93 = xor <32 x i32> %.91, splat (i32 3)
  %.94 = icmp slt <32 x i32> %.93, splat (i32 0)
  %.95 = and <32 x i1> %.92, %.94
  %.96 = icmp ne <32 x i32> splat (i32 3), splat (i32 0)
  %.97 = and <32 x i1> %.95, %.96
  %.98 = select <32 x i1> %.97, <32 x i32> %.89, <32 x i32> %.88
  %.99 = getelementptr inbounds i32, ptr %p1, i64 %.13
  %.100 = call <32 x i32> @llvm.masked.load.v32i32.p0(ptr %.99, i32 4, <32 x i1> %.75, <32 x i32> splat (i32 0))
  %.101 = add <32 x i32> %.98, %.100
  %.102 = icmp eq <32 x i32> splat (i32 7), splat (i32 0)
  %.103 = icmp eq <32 x i32> splat (i32 7), splat (i32 -1)
  %.104 = or <32 x i1> %.102, %.103
  %.105 = select <32 x i1> %.104, <32 x i32> splat (i32 1), <32 x i32> splat (i32 7)
  %.106 = sub <32 x i32> splat (i32 0), %.101
  %.107 = sitofp <32 x i32> %.101 to <32 x double>
  %.108 = sitofp <32 x i32> %.105 to <32 x double>
  %.109 = fdiv <32 x double> %.107, %.108
  %.110 = fptosi <32 x double> %.109 to <32 x i32>
  %.111 = select <32 x i1> %.103, <32 x i32> %.106, <32 x i32> %.110
  %.112 = select <32 x i1> %.102, <32 x i32> splat (i32 0), <32 x i32> %.111
  %.113 = mul <32 x i32> %.112, splat (i32 7)
  %.114 = sub <32 x i32> %.101, %.113
  %.115 = icmp eq <32 x i32> splat (i32 7), splat (i32 0)
  %.116 = select <32 x i1> %.115, <32 x i32> splat (i32 0), <32 x i32> %.114
  %.117 = icmp ne <32 x i32> %.116, splat (i32 0)
  %.118 = xor <32 x i32> %.116, splat (i32 7)
  %.119 = icmp slt <32 x i32> %.118, splat (i32 0)
  %.120 = and <32 x i1> %.117, %.119
  %.121 = add <32 x i32> %.116, splat (i32 7)
  %.122 = select <32 x i1> %.120, <32 x i32> %.121, <32 x i32> %.116
  %.123 = getelementptr inbounds i32, ptr %p2, i64 %.13
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %.122, ptr %.123, i32 4, <32 x i1> %.75)
  br label %join.70
join.70:
  %.124 = add nsw i64 %.4, 1
  br label %loop.1
done.3:
  ret void
}
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, i64 0, i64 1)
  ret void
}
