declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
define i64 @arena_bytes(ptr %numbers)  {
entry:
  ret i64 0
}
define i64 @entry(ptr %run, ptr %arguments, ptr %numbers, ptr %results, ptr %arena)  {
entry:
  %.1 = getelementptr inbounds i64, ptr %arguments, i64 0
  %.2 = load ptr, ptr %.1, align 8
  %.3 = getelementptr inbounds i64, ptr %results, i64 0
  %.4 = load ptr, ptr %.3, align 8
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.4)
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
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, i64 %begin, i64 %end)  {
entry:
  %.4 = alloca ptr
  store ptr null, ptr %.4, align 8
  %.12 = alloca <16 x float>
  %.76 = alloca <16 x float>
  %.1 = mul i64 40, 4
  %.2 = add i64 %.1, 64
  %.3 = call ptr @weft.take(ptr %run, i64 %.2)
  %.5 = icmp eq ptr %.3, null
  br i1 %.5, label %no.memory, label %next.6, !prof !{!"branch_weights", i32 1, i32 2000}
next.6:
  store ptr %.3, ptr %.4, align 8
  br label %loop.7
loop.7:
  %.10 = phi i64 [ %begin, %next.6 ], [ %.174, %join.158 ]
  %.11 = icmp slt i64 %.10, %end
  br i1 %.11, label %body.8, label %done.9
body.8:
  store <16 x float> splat (float 0xFFF0000000000000), ptr %.12, align 4
  %.13 = sub i64 40, 0
  %.14 = sdiv i64 %.13, 16
  %.15 = mul i64 %.14, 16
  %.16 = add i64 0, %.15
  br label %loop.17
loop.17:
  %.20 = phi i64 [ 0, %body.8 ], [ %.31, %body.18 ]
  %.21 = icmp slt i64 %.20, %.16
  br i1 %.21, label %body.18, label %done.19
body.18:
  %.22 = mul i64 %.10, 40
  %.23 = add i64 %.22, %.20
  %.24 = getelementptr inbounds float, ptr %p0, i64 %.23
  %.25 = load <16 x float>, ptr %.24, align 4
  %.26 = load <16 x float>, ptr %.12, align 4
  %.27 = fcmp ogt <16 x float> %.25, %.26
  %.28 = select <16 x i1> %.27, <16 x float> %.25, <16 x float> %.26
  %.29 = fcmp uno <16 x float> %.25, %.25
  %.30 = select <16 x i1> %.29, <16 x float> %.25, <16 x float> %.28
  store <16 x float> %.30, ptr %.12, align 4
  %.31 = add nsw i64 %.20, 16
  br label %loop.17
done.19:
  %.32 = icmp slt i64 %.16, 40
  br i1 %.32, label %then.33, label %join.34
then.33:
  %.35 = sub i64 40, %.16
  %.36 = trunc i64 %.35 to i32
  %.37 = insertelement <16 x i32> poison, i32 %.36, i32 0
  %.38 = shufflevector <16 x i32> %.37, <16 x i32> poison, <16 x i32> zeroinitializer
  %.39 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.38
  %.40 = mul i64 %.10, 40
  %.41 = add i64 %.40, %.16
  %.42 = getelementptr inbounds float, ptr %p0, i64 %.41
  %.43 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.42, i32 4, <16 x i1> %.39, <16 x float> splat (float 0x0000000000000000))
  %.44 = load <16 x float>, ptr %.12, align 4
  %.45 = fcmp ogt <16 x float> %.43, %.44
  %.46 = select <16 x i1> %.45, <16 x float> %.43, <16 x float> %.44
  %.47 = fcmp uno <16 x float> %.43, %.43
  %.48 = select <16 x i1> %.47, <16 x float> %.43, <16 x float> %.46
  %.49 = select <16 x i1> %.39, <16 x float> %.48, <16 x float> %.44
  store <16 x float> %.49, ptr %.12, align 4
  br label %join.34
join.34:
  %.50 = load <16 x float>, ptr %.12, align 4
  %.51 = shufflevector <16 x float> %.50, <16 x float> %.50, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.52 = shufflevector <16 x float> %.50, <16 x float> %.50, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.53 = fcmp ogt <8 x float> %.52, %.51
  %.54 = select <8 x i1> %.53, <8 x float> %.52, <8 x float> %.51
  %.55 = fcmp uno <8 x float> %.52, %.52
  %.56 = select <8 x i1> %.55, <8 x float> %.52, <8 x float> %.54
  %.57 = shufflevector <8 x float> %.56, <8 x float> %.56, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.58 = shufflevector <8 x float> %.56, <8 x float> %.56, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.59 = fcmp ogt <4 x float> %.58, %.57
  %.60 = select <4 x i1> %.59, <4 x float> %.58, <4 x float> %.57
  %.61 = fcmp uno <4 x float> %.58, %.58
  %.62 = select <4 x i1> %.61, <4 x float> %.58, <4 x float> %.60
  %.63 = shufflevector <4 x float> %.62, <4 x float> %.62, <2 x i32> <i32 0, i32 1>
  %.64 = shufflevector <4 x float> %.62, <4 x float> %.62, <2 x i32> <i32 2, i32 3>
  %.65 = fcmp ogt <2 x float> %.64, %.63
  %.66 = select <2 x i1> %.65, <2 x float> %.64, <2 x float> %.63
  %.67 = fcmp uno <2 x float> %.64, %.64
  %.68 = select <2 x i1> %.67, <2 x float> %.64, <2 x float> %.66
  %.69 = shufflevector <2 x float> %.68, <2 x float> %.68, <1 x i32> <i32 0>
  %.70 = shufflevector <2 x float> %.68, <2 x float> %.68, <1 x i32> <i32 1>
  %.71 = fcmp ogt <1 x float> %.70, %.69
  %.72 = select <1 x i1> %.71, <1 x float> %.70, <1 x float> %.69
  %.73 = fcmp uno <1 x float> %.70, %.70
  %.74 = select <1 x i1> %.73, <1 x float> %.70, <1 x float> %.72
  %.75 = extractelement <1 x float> %.74, i32 0
  store <16 x float> splat (float 0x0000000000000000), ptr %.76, align 4
  %.77 = sub i64 40, 0
  %.78 = sdiv i64 %.77, 16
  %.79 = mul i64 %.78, 16
  %.80 = add i64 0, %.79
  br label %loop.81
loop.81:
  %.84 = phi i64 [ 0, %join.34 ], [ %.99, %body.82 ]
  %.85 = icmp slt i64 %.84, %.80
  br i1 %.85, label %body.82, label %done.83
body.82:
  %.86 = mul i64 %.10, 40
  %.87 = add i64 %.86, %.84
  %.88 = getelementptr inbounds float, ptr %p0, i64 %.87
  %.89 = load <16 x float>, ptr %.88, align 4
  %.90 = insertelement <16 x float> poison, float %.75, i32 0
  %.91 = shufflevector <16 x float> %.90, <16 x float> poison, <16 x i32> zeroinitializer
  %.92 = fsub contract <16 x float> %.89, %.91
  %.93 = call <16 x float> @weft.exp.v16f32(<16 x float> %.92)
  %.94 = mul i64 0, 40
  %.95 = add i64 %.94, %.84
  %.96 = getelementptr inbounds float, ptr %.3, i64 %.95
  store <16 x float> %.93, ptr %.96, align 4
  %.97 = load <16 x float>, ptr %.76, align 4
  %.98 = fadd contract <16 x float> %.97, %.93
  store <16 x float> %.98, ptr %.76, align 4
  %.99 = add nsw i64 %.84, 16
  br label %loop.81
done.83:
  %.100 = icmp slt i64 %.80, 40
  br i1 %.100, label %then.101, label %join.102
then.101:
  %.103 = sub i64 40, %.80
  %.104 = trunc i64 %.103 to i32
  %.105 = insertelement <16 x i32> poison, i32 %.104, i32 0
  %.106 = shufflevector <16 x i32> %.105, <16 x i32> poison, <16 x i32> zeroinitializer
  %.107 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.106
  %.108 = mul i64 %.10, 40
  %.109 = add i64 %.108, %.80
  %.110 = getelementptr inbounds float, ptr %p0, i64 %.109
  %.111 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.110, i32 4, <16 x i1> %.107, <16 x float> splat (float 0x0000000000000000))
  %.112 = insertelement <16 x float> poison, float %.75, i32 0
  %.113 = shufflevector <16 x float> %.112, <16 x float> poison, <16 x i32> zeroinitializer
  %.114 = fsub contract <16 x float> %.111, %.113
  %.115 = call <16 x float> @weft.exp.v16f32(<16 x float> %.114)
  %.116 = mul i64 0, 40
  %.117 = add i64 %.116, %.80
  %.118 = getelementptr inbounds float, ptr %.3, i64 %.117
  store <16 x float> %.115, ptr %.118, align 4
  %.119 = load <16 x float>, ptr %.76, align 4
  %.120 = fadd contract <16 x float> %.119, %.115
  %.121 = select <16 x i1> %.107, <16 x float> %.120, <16 x float> %.119
  store <16 x float> %.121, ptr %.76, align 4
  br label %join.102
join.102:
  %.122 = load <16 x float>, ptr %.76, align 4
  %.123 = shufflevector <16 x float> %.122, <16 x float> %.122, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.124 = shufflevector <16 x float> %.122, <16 x float> %.122, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.125 = fadd contract <8 x float> %.123, %.124
  %.126 = shufflevector <8 x float> %.125, <8 x float> %.125, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.127 = shufflevector <8 x float> %.125, <8 x float> %.125, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.128 = fadd contract <4 x float> %.126, %.127
  %.129 = shufflevector <4 x float> %.128, <4 x float> %.128, <2 x i32> <i32 0, i32 1>
  %.130 = shufflevector <4 x float> %.128, <4 x float> %.128, <2 x i32> <i32 2, i32 3>
  %.131 = fadd contract <2 x float> %.129, %.130
  %.132 = shufflevector <2 x float> %.131, <2 x float> %.131, <1 x i32> <i32 0>
  %.133 = shufflevector <2 x float> %.131, <2 x float> %.131, <1 x i32> <i32 1>
  %.134 = fadd contract <1 x float> %.132, %.133
  %.135 = extractelement <1 x float> %.134, i32 0
  %.136 = sub i64 40, 0
  %.137 = sdiv i64 %.136, 16
  %.138 = mul i64 %.137, 16
  %.139 = add i64 0, %.138
  br label %loop.140
loop.140:
  %.143 = phi i64 [ 0, %join.102 ], [ %.155, %body.141 ]
  %.144 = icmp slt i64 %.143, %.139
  br i1 %.144, label %body.141, label %done.142
body.141:
  %.145 = mul i64 0, 40
  %.146 = add i64 %.145, %.143
  %.147 = getelementptr inbounds float, ptr %.3, i64 %.146
  %.148 = load <16 x float>, ptr %.147, align 4
  %.149 = insertelement <16 x float> poison, float %.135, i32 0
  %.150 = shufflevector <16 x float> %.149, <16 x float> poison, <16 x i32> zeroinitializer
  %.151 = fdiv <16 x float> %.148, %.150
  %.152 = mul i64 %.10, 40
  %.153 = add i64 %.152, %.143
  %.154 = getelementptr inbounds float, ptr %p1, i64 %.153
  store <16 x float> %.151, ptr %.154, align 4
  %.155 = add nsw i64 %.143, 16
  br label %loop.140
done.142:
  %.156 = icmp slt i64 %.139, 40
  br i1 %.156, label %then.157, label %join.158
then.157:
  %.159 = sub i64 40, %.139
  %.160 = trunc i64 %.159 to i32
  %.161 = insertelement <16 x i32> poison, i32 %.160, i32 0
  %.162 = shufflevector <16 x i32> %.161, <16 x i32> poison, <16 x i32> zeroinitializer
  %.163 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.162
  %.164 = mul i64 0, 40
  %.165 = add i64 %.164, %.139
  %.166 = getelementptr inbounds float, ptr %.3, i64 %.165
  %.167 = load <16 x float>, ptr %.166, align 4
  %.168 = insertelement <16 x float> poison, float %.135, i32 0
  %.169 = shufflevector <16 x float> %.168, <16 x float> poison, <16 x i32> zeroinitializer
  %.170 = fdiv <16 x float> %.167, %.169
  %.171 = mul i64 %.10, 40
  %.172 = add i64 %.171, %.139
  %.173 = getelementptr inbounds float, ptr %p1, i64 %.172
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.170, ptr %.173, i32 4, <16 x i1> %.163)
  br label %join.158
join.158:
  %.174 = add nsw i64 %.10, 1
  br label %loop.7
done.9:
  %.175 = load ptr, ptr %.4, align 8
  %.176 = icmp eq ptr %.175, %.3
  %.177 = select i1 %.176, ptr null, ptr %.175
  store ptr %.177, ptr %.4, align 8
  call void @free(ptr %.3)
  ret void
no.memory:
  %held.0 = load ptr, ptr %.4, align 8
  call void @free(ptr %held.0)
  ret void
}
define internal ptr @weft.take(ptr %run, i64 %bytes) ; folded
define internal <16 x float> @weft.exp.v16f32(<16 x float> %x0) alwaysinline ; folded
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, i64 0, i64 6)
  ret void
}
