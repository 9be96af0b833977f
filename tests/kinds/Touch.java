// SPDX-License-Identifier: GPL-2.0
// As an ordinary process of kinds.c
public class Touch {
    static byte[] used = new byte[8 << 20], idle = new byte[16 << 20];
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < idle.length; i += 4096) idle[i]++;
        for (int i = 0; i < used.length; i += 4096) used[i]++;
        System.out.println("ready pid=" + ProcessHandle.current().pid() + " used=" + used.length
            // the virtual machine's own memory is more than that
            + " resident=0 slack=" + (24 << 20));
        for (;;) {
            for (int i = 0; i < used.length; i += 4096) used[i]++;
            Thread.sleep(50);
        }
    }
}
