import {
  KernelSocket,
  Poller,
  READABLE,
  SYS,
  SendBatch,
  isLibcSupported,
  loadLibc,
  socketAddress,
  type Libc,
} from "@isochrone/kernel-sockets";
import { afterEach, describe, expect, test } from "vitest";
import { LeaveTime } from "./leave-time.ts";

describe.runIf(isLibcSupported())("leave time", () => {
  const open: KernelSocket[] = [];
  afterEach(() => {
    for (const socket of open.splice(0)) socket.close();
  });

  function udp(libc: Libc): KernelSocket {
    const socket = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
    open.push(socket);
    socket.bind("127.0.0.1", 0);
    return socket;
  }

  test("is read from the kernel's stamp of a send call after each renewal, and leaves no stamp behind", async () => {
    const libc = await loadLibc();
    const sender = udp(libc);
    const to = socketAddress(libc, "127.0.0.1", udp(libc).localAddress().port);
    const sends = new SendBatch(libc, 4, 16);
    const leaving = new LeaveTime(libc);
    expect(leaving.ms).toBe(0);
    let sent = 0;
    for (let round = 0; round < 25; round++) {
      for (let i = 0; i < 3; i++) sends.add(4, to);
      leaving.around(sender, () => (sent += sends.send(sender.fd)));
      leaving.renew();
    }
    expect(sent).toBe(75);
    expect(leaving.ms).toBeGreaterThan(0);
    expect(leaving.ms).toBeLessThan(1);
    const poller = new Poller(libc);
    let events = 0;
    poller.add(sender.fd, READABLE, (what) => (events |= what));
    expect(poller.wait(0)).toBe(0);
    // An unread stamp is reported as an error until it is read.
    sender.enableTimestamps({ sends: true });
    sends.add(4, to);
    sends.send(sender.fd);
    expect(poller.wait(100)).toBe(1);
    expect(events & SYS.POLLERR).toBe(SYS.POLLERR);
    leaving.discardLate(sender.fd);
    expect(poller.wait(0)).toBe(0);
    poller.close();
    sends.free();
    leaving.free();
  });
});
