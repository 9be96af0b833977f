// SPDX-License-Identifier: GPL-2.0
// As an ordinary process of kinds.c
const used = Buffer.alloc(8 << 20, 1), idle = Buffer.alloc(16 << 20, 1);
setInterval(() => { for (let i = 0; i < used.length; i += 4096) used[i]++; }, 50);
console.log(`ready pid=${process.pid} used=${used.length} resident=${used.length + idle.length} slack=${24 << 20}`);
