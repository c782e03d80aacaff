declare void @free(ptr)
declare ptr @aligned_alloc(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32 immarg, <16 x i1>, <16 x float>)
declare float @llvm.sqrt.f32(float)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32 immarg, <16 x i1>)
define i64 @arena_bytes(ptr %numbers)  {
entry:
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
  call void @kernel0.run(ptr %run, ptr %.2, ptr %.4, ptr %.6, float 0x4044000000000000, float 0x4044000000000000, float 0x3EE4F8B580000000)
  %.7 = getelementptr inbounds i64, ptr %run, i64 1
  %.8 = load i64, ptr %.7, align 8
  %.9 = icmp eq i64 %.8, -4
  br i1 %.9, label %no.memory, label %next.10, !prof !{!"branch_weights", i32 1, i32 2000}
next.10:
  %.11 = getelementptr inbounds i64, ptr %run, i64 1
  %.12 = load i64, ptr %.11, align 8
  ret i64 %.12
no.memory:
  ret i64 zeroinitializer
}
define internal void @kernel0(ptr noalias %run, ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, float %a0.0, float %a1.0, float %a2.0, i64 %begin, i64 %end)  {
entry:
  %.4 = alloca ptr
  store ptr null, ptr %.4, align 8
  %.12 = alloca <16 x float>
  %.58 = alloca <16 x float>
  %.1 = mul i64 40, 4
  %.2 = add i64 %.1, 64
  %.3 = call ptr @weft.take(ptr %run, i64 %.2)
  %.5 = icmp eq ptr %.3, null
  br i1 %.5, label %no.memory, label %next.6, !prof !{!"branch_weights", i32 1, i32 2000}
next.6:
  store ptr %.3, ptr %.4, align 8
  br label %loop.7
loop.7:
  %.10 = phi i64 [ %begin, %next.6 ], [ %.166, %join.147 ]
  %.11 = icmp slt i64 %.10, %end
  br i1 %.11, label %body.8, label %done.9
body.8:
  store <16 x float> splat (float 0x0000000000000000), ptr %.12, align 4
  %.13 = sub i64 40, 0
  %.14 = sdiv i64 %.13, 16
  %.15 = mul i64 %.14, 16
  %.16 = add i64 0, %.15
  br label %loop.17
loop.17:
  %.20 = phi i64 [ 0, %body.8 ], [ %.28, %body.18 ]
  %.21 = icmp slt i64 %.20, %.16
  br i1 %.21, label %body.18, label %done.19
body.18:
  %.22 = mul i64 %.10, 40
  %.23 = add i64 %.22, %.20
  %.24 = getelementptr inbounds float, ptr %p0, i64 %.23
  %.25 = load <16 x float>, ptr %.24, align 4
  %.26 = load <16 x float>, ptr %.12, align 4
  %.27 = fadd contract <16 x float> %.26, %.25
  store <16 x float> %.27, ptr %.12, align 4
  %.28 = add nsw i64 %.20, 16
  br label %loop.17
done.19:
  %.29 = icmp slt i64 %.16, 40
  br i1 %.29, label %then.30, label %join.31
then.30:
  %.32 = sub i64 40, %.16
  %.33 = trunc i64 %.32 to i32
  %.34 = insertelement <16 x i32> poison, i32 %.33, i32 0
  %.35 = shufflevector <16 x i32> %.34, <16 x i32> poison, <16 x i32> zeroinitializer
  %.36 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.35
  %.37 = mul i64 %.10, 40
  %.38 = add i64 %.37, %.16
  %.39 = getelementptr inbounds float, ptr %p0, i64 %.38
  %.40 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.39, i32 4, <16 x i1> %.36, <16 x float> splat (float 0x0000000000000000))
  %.41 = load <16 x float>, ptr %.12, align 4
  %.42 = fadd contract <16 x float> %.41, %.40
  %.43 = select <16 x i1> %.36, <16 x float> %.42, <16 x float> %.41
  store <16 x float> %.43, ptr %.12, align 4
  br label %join.31
join.31:
  %.44 = load <16 x float>, ptr %.12, align 4
  %.45 = shufflevector <16 x float> %.44, <16 x float> %.44, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.46 = shufflevector <16 x float> %.44, <16 x float> %.44, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.47 = fadd contract <8 x float> %.45, %.46
  %.48 = shufflevector <8 x float> %.47, <8 x float> %.47, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.49 = shufflevector <8 x float> %.47, <8 x float> %.47, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.50 = fadd contract <4 x float> %.48, %.49
  %.51 = shufflevector <4 x float> %.50, <4 x float> %.50, <2 x i32> <i32 0, i32 1>
  %.52 = shufflevector <4 x float> %.50, <4 x float> %.50, <2 x i32> <i32 2, i32 3>
  %.53 = fadd contract <2 x float> %.51, %.52
  %.54 = shufflevector <2 x float> %.53, <2 x float> %.53, <1 x i32> <i32 0>
  %.55 = shufflevector <2 x float> %.53, <2 x float> %.53, <1 x i32> <i32 1>
  %.56 = fadd contract <1 x float> %.54, %.55
  %.57 = extractelement <1 x float> %.56, i32 0
  store <16 x float> splat (float 0x0000000000000000), ptr %.58, align 4
  %.59 = fdiv float %.57, %a0.0
  %.60 = sub i64 40, 0
  %.61 = sdiv i64 %.60, 16
  %.62 = mul i64 %.61, 16
  %.63 = add i64 0, %.62
  br label %loop.64
loop.64:
  %.67 = phi i64 [ 0, %join.31 ], [ %.82, %body.65 ]
  %.68 = icmp slt i64 %.67, %.63
  br i1 %.68, label %body.65, label %done.66
body.65:
  %.69 = mul i64 %.10, 40
  %.70 = add i64 %.69, %.67
  %.71 = getelementptr inbounds float, ptr %p0, i64 %.70
  %.72 = load <16 x float>, ptr %.71, align 4
  %.73 = insertelement <16 x float> poison, float %.59, i32 0
  %.74 = shufflevector <16 x float> %.73, <16 x float> poison, <16 x i32> zeroinitializer
  %.75 = fsub contract <16 x float> %.72, %.74
  %.76 = mul i64 0, 40
  %.77 = add i64 %.76, %.67
  %.78 = getelementptr inbounds float, ptr %.3, i64 %.77
  store <16 x float> %.75, ptr %.78, align 4
  %.79 = fmul contract <16 x float> %.75, %.75
  %.80 = load <16 x float>, ptr %.58, align 4
  %.81 = fadd contract <16 x float> %.80, %.79
  store <16 x float> %.81, ptr %.58, align 4
  %.82 = add nsw i64 %.67, 16
  br label %loop.64
done.66:
  %.83 = icmp slt i64 %.63, 40
  br i1 %.83, label %then.84, label %join.85
then.84:
  %.86 = sub i64 40, %.63
  %.87 = trunc i64 %.86 to i32
  %.88 = insertelement <16 x i32> poison, i32 %.87, i32 0
  %.89 = shufflevector <16 x i32> %.88, <16 x i32> poison, <16 x i32> zeroinitializer
  %.90 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.89
  %.91 = mul i64 %.10, 40
  %.92 = add i64 %.91, %.63
  %.93 = getelementptr inbounds float, ptr %p0, i64 %.92
  %.94 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.93, i32 4, <16 x i1> %.90, <16 x float> splat (float 0x0000000000000000))
  %.95 = insertelement <16 x float> poison, float %.59, i32 0
  %.96 = shufflevector <16 x float> %.95, <16 x float> poison, <16 x i32> zeroinitializer
  %.97 = fsub contract <16 x float> %.94, %.96
  %.98 = mul i64 0, 40
  %.99 = add i64 %.98, %.63
  %.100 = getelementptr inbounds float, ptr %.3, i64 %.99
  store <16 x float> %.97, ptr %.100, align 4
  %.101 = fmul contract <16 x float> %.97, %.97
  %.102 = load <16 x float>, ptr %.58, align 4
  %.103 = fadd contract <16 x float> %.102, %.101
  %.104 = select <16 x i1> %.90, <16 x float> %.103, <16 x float> %.102
  store <16 x float> %.104, ptr %.58, align 4
  br label %join.85
join.85:
  %.105 = load <16 x float>, ptr %.58, align 4
  %.106 = shufflevector <16 x float> %.105, <16 x float> %.105, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %.107 = shufflevector <16 x float> %.105, <16 x float> %.105, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %.108 = fadd contract <8 x float> %.106, %.107
  %.109 = shufflevector <8 x float> %.108, <8 x float> %.108, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %.110 = shufflevector <8 x float> %.108, <8 x float> %.108, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %.111 = fadd contract <4 x float> %.109, %.110
  %.112 = shufflevector <4 x float> %.111, <4 x float> %.111, <2 x i32> <i32 0, i32 1>
  %.113 = shufflevector <4 x float> %.111, <4 x float> %.111, <2 x i32> <i32 2, i32 3>
  %.114 = fadd contract <2 x float> %.112, %.113
  %.115 = shufflevector <2 x float> %.114, <2 x float> %.114, <1 x i32> <i32 0>
  %.116 = shufflevector <2 x float> %.114, <2 x float> %.114, <1 x i32> <i32 1>
  %.117 = fadd contract <1 x float> %.115, %.116
  %.118 = extractelement <1 x float> %.117, i32 0
  %.119 = fdiv float %.118, %a1.0
  %.120 = fadd contract float %.119, %a2.0
  %.121 = call float @weft.sqrt.f32(float %.120)
  %.122 = sub i64 40, 0
  %.123 = sdiv i64 %.122, 16
  %.124 = mul i64 %.123, 16
  %.125 = add i64 0, %.124
  br label %loop.126
loop.126:
  %.129 = phi i64 [ 0, %join.85 ], [ %.144, %body.127 ]
  %.130 = icmp slt i64 %.129, %.125
  br i1 %.130, label %body.127, label %done.128
body.127:
  %.131 = mul i64 0, 40
  %.132 = add i64 %.131, %.129
  %.133 = getelementptr inbounds float, ptr %.3, i64 %.132
  %.134 = load <16 x float>, ptr %.133, align 4
  %.135 = getelementptr inbounds float, ptr %p1, i64 %.129
  %.136 = load <16 x float>, ptr %.135, align 4
  %.137 = fmul contract <16 x float> %.136, %.134
  %.138 = insertelement <16 x float> poison, float %.121, i32 0
  %.139 = shufflevector <16 x float> %.138, <16 x float> poison, <16 x i32> zeroinitializer
  %.140 = fdiv <16 x float> %.137, %.139
  %.141 = mul i64 %.10, 40
  %.142 = add i64 %.141, %.129
  %.143 = getelementptr inbounds float, ptr %p2, i64 %.142
  store <16 x float> %.140, ptr %.143, align 4
  %.144 = add nsw i64 %.129, 16
  br label %loop.126
done.128:
  %.145 = icmp slt i64 %.125, 40
  br i1 %.145, label %then.146, label %join.147
then.146:
  %.148 = sub i64 40, %.125
  %.149 = trunc i64 %.148 to i32
  %.150 = insertelement <16 x i32> poison, i32 %.149, i32 0
  %.151 = shufflevector <16 x i32> %.150, <16 x i32> poison, <16 x i32> zeroinitializer
  %.152 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %.151
  %.153 = mul i64 0, 40
  %.154 = add i64 %.153, %.125
  %.155 = getelementptr inbounds float, ptr %.3, i64 %.154
  %.156 = load <16 x float>, ptr %.155, align 4
  %.157 = getelementptr inbounds float, ptr %p1, i64 %.125
  %.158 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %.157, i32 4, <16 x i1> %.152, <16 x float> splat (float 0x0000000000000000))
  %.159 = fmul contract <16 x float> %.158, %.156
  %.160 = insertelement <16 x float> poison, float %.121, i32 0
  %.161 = shufflevector <16 x float> %.160, <16 x float> poison, <16 x i32> zeroinitializer
  %.162 = fdiv <16 x float> %.159, %.161
  %.163 = mul i64 %.10, 40
  %.164 = add i64 %.163, %.125
  %.165 = getelementptr inbounds float, ptr %p2, i64 %.164
  call void @llvm.masked.store.v16f32.p0(<16 x float> %.162, ptr %.165, i32 4, <16 x i1> %.152)
  br label %join.147
join.147:
  %.166 = add nsw i64 %.10, 1
  br label %loop.7
done.9:
  %.167 = load ptr, ptr %.4, align 8
  %.168 = icmp eq ptr %.167, %.3
  %.169 = select i1 %.168, ptr null, ptr %.167
  store ptr %.169, ptr %.4, align 8
  call void @free(ptr %.3)
  ret void
no.memory:
  %held.0 = load ptr, ptr %.4, align 8
  call void @free(ptr %held.0)
  ret void
}
define internal ptr @weft.take(ptr %run, i64 %bytes) ; folded
define internal float @weft.sqrt.f32(float %x0) alwaysinline ; folded
define internal void @kernel0.run(ptr %run, ptr %p0, ptr %p1, ptr %p2, float %a0.0, float %a1.0, float %a2.0)  {
entry:
  call void @kernel0(ptr %run, ptr %p0, ptr %p1, ptr %p2, float %a0.0, float %a1.0, float %a2.0, i64 0, i64 6)
  ret void
}
