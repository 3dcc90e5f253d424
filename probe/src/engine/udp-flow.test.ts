import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Distribution } from "@isochrone/telemetry";
import { lossRatio } from "../domain/loss.ts";
import type { FlowSnapshot } from "../ports/ports.ts";
import {
  LOOP_KINDS,
  manualContext,
  openResponder,
  peerAt,
  until,
  type TestContext,
  type TestResponder,
} from "../testing/harness.ts";
import { UdpMiddlebox, passOn } from "../testing/udp-middlebox.ts";
import { UdpFlow } from "./udp-flow.ts";

const TIMEOUT_MS = 1_000;

let responder: TestResponder;
let box: UdpMiddlebox;
let context: TestContext;
let flow: UdpFlow;

describe.each(LOOP_KINDS)("on %s sockets", (kind) => {
  beforeEach(async () => {
    responder = await openResponder({ acceptTranslatedSource: true });
    box = await UdpMiddlebox.open({ address: "127.0.0.2", port: responder.udpPort });
    context = manualContext({ timeoutMs: TIMEOUT_MS }, kind);
    flow = new UdpFlow(context, peerAt({ udpPort: box.port }, { address: "127.0.0.3" }));
    flow.start();
    await until("the socket", () => flow.isOpen);
  });

  afterEach(async () => {
    flow.stop();
    context.close();
    box.close();
    await responder.close();
  });

  async function send(packets: number): Promise<void> {
    for (let i = 0; i < packets; i++) {
      const before = box.requests;
      flow.prepare();
      flow.send();
      await until("the request to pass", () => box.requests > before);
    }
  }

  async function settled(packets: number): Promise<FlowSnapshot> {
    const total = emptyTotal();
    await until("every packet to be decided", () => {
      add(total, flow.drain());
      return total.outcomes.received + total.outcomes.lost + total.outcomes.send_error >= packets;
    });
    return total;
  }

  type Total = { -readonly [K in keyof FlowSnapshot]: FlowSnapshot[K] } & {
    outcomes: Record<string, number>;
    errors: Record<string, number>;
  };

  function emptyTotal(): Total {
    return { ...flow.drain() };
  }

  function add(total: Total, part: FlowSnapshot): void {
    for (const [name, count] of Object.entries(part.outcomes))
      total.outcomes[name] = (total.outcomes[name] ?? 0) + count;
    for (const [name, count] of Object.entries(part.errors))
      total.errors[name] = (total.errors[name] ?? 0) + count;
    const rtt = new Distribution();
    rtt.mergeData(total.rtt);
    rtt.mergeData(part.rtt);
    total.rtt = rtt.toData();
    total.variationCount += part.variationCount;
    total.variationSeconds += part.variationSeconds;
    total.renewals += part.renewals;
  }

  describe("UDP_RR through a middlebox", () => {
    test.each([2, 3, 5, 10])("a request lost every %i packets is lost exactly as often", async (nth) => {
      box.onRequest = (packet, index) => (index % nth === 0 ? [] : [{ packet }]);
      await send(30);
      const { outcomes, errors } = await settled(30);
      expect(outcomes).toMatchObject({
        sent: 30,
        lost: 30 / nth,
        received: 30 - 30 / nth,
        late: 0,
        duplicate: 0,
        corrupt: 0,
      });
      expect(errors).toEqual({ timeout: 30 / nth });
    });

    test("an answer lost counts as much as a request lost", async () => {
      box.onAnswer = (packet, index) => (index % 3 === 0 ? [] : [{ packet }]);
      await send(30);
      expect((await settled(30)).outcomes).toMatchObject({ sent: 30, lost: 10, received: 20 });
    });

    test("a duplicate is counted apart and received once", async () => {
      box.onAnswer = (packet, index) => (index % 4 === 0 ? [{ packet }, { packet }] : [{ packet }]);
      await send(20);
      const total = await settled(20);
      await until("the duplicates", () => {
        add(total, flow.drain());
        return total.outcomes.duplicate >= 5;
      });
      expect(total.outcomes).toMatchObject({ sent: 20, received: 20, lost: 0, duplicate: 5, late: 0 });
      expect(total.rtt.count).toBe(20);
    });

    test("an answer after the timeout is late, its packet stays lost, and the next packet's time is its own", async () => {
      // Every second answer arrives after the timeout, while the next packets are in flight.
      box.onAnswer = (packet, index) =>
        index % 2 === 0 ? [{ packet, delayMs: TIMEOUT_MS + 100 }] : [{ packet }];
      await send(10);
      const total = await settled(10);
      await send(5);
      await until("the late answers", () => {
        add(total, flow.drain());
        return total.outcomes.late >= 7 && total.outcomes.lost >= 7;
      });
      expect(total.outcomes).toMatchObject({
        sent: 15,
        received: 8,
        lost: 7,
        late: 7,
        duplicate: 0,
        corrupt: 0,
      });
      expect(total.rtt.count).toBe(8);
      expect(total.rtt.max).toBeLessThan(TIMEOUT_MS / 1000);
    });

    test("a late answer that comes twice is late once and duplicate once", async () => {
      box.onAnswer = (packet) => [
        { packet, delayMs: TIMEOUT_MS + 50 },
        { packet, delayMs: TIMEOUT_MS + 70 },
      ];
      await send(3);
      const total = await settled(3);
      await until("the copies", () => {
        add(total, flow.drain());
        return total.outcomes.late + total.outcomes.duplicate >= 6;
      });
      expect(total.outcomes).toMatchObject({ sent: 3, received: 0, lost: 3, late: 3, duplicate: 3 });
    });

    test("a damaged answer is corrupt, and its packet is lost", async () => {
      box.onAnswer = (packet, index) => {
        if (index % 5 === 0)
          packet[packet.length - 20 - index] = (packet[packet.length - 20 - index] ?? 0) ^ 1;
        return [{ packet }];
      };
      await send(20);
      const { outcomes, errors } = await settled(20);
      expect(outcomes).toMatchObject({ sent: 20, received: 16, lost: 4, corrupt: 4 });
      expect(errors).toEqual({ timeout: 4, bad_hmac: 4 });
    });

    test("a damaged request gets no answer", async () => {
      box.onRequest = (packet, index) => {
        if (index === 2) packet[40] = (packet[40] ?? 0) ^ 0x80;
        return [{ packet }];
      };
      await send(4);
      expect((await settled(4)).outcomes).toMatchObject({ sent: 4, received: 3, lost: 1, corrupt: 0 });
      expect(responder.responder.drain().refused).toEqual({ bad_hmac: 1 });
    });

    test("answers in another order are each credited to their own packet", async () => {
      let held: Buffer | null = null;
      box.onAnswer = (packet, index) => {
        if (index % 2 === 1) {
          held = packet;
          return [];
        }
        return [{ packet }, { packet: held as unknown as Buffer }];
      };
      await send(20);
      expect((await settled(20)).outcomes).toMatchObject({
        sent: 20,
        received: 20,
        lost: 0,
        late: 0,
        duplicate: 0,
        corrupt: 0,
      });
    });

    test("a replayed answer of an earlier packet changes nothing but the count of duplicates", async () => {
      let first: Buffer | null = null;
      box.onAnswer = (packet, index) => {
        first ??= Buffer.from(packet);
        return index === 1 ? [{ packet }] : [{ packet: first }];
      };
      await send(4);
      expect((await settled(4)).outcomes).toMatchObject({
        sent: 4,
        received: 1,
        lost: 3,
        duplicate: 3,
        late: 0,
      });
    });

    test("garbage sent to the asker is counted and believed by nobody", async () => {
      box.onAnswer = (packet, index) => {
        if (index > 1) return passOn(packet, index);
        for (let i = 0; i < 200; i++) box.toAsker(Buffer.alloc(i, i));
        return [{ packet }];
      };
      await send(5);
      const total = await settled(5);
      await until("the garbage", () => {
        add(total, flow.drain());
        return total.outcomes.corrupt >= 200;
      });
      expect(total.outcomes).toMatchObject({ sent: 5, received: 5, lost: 0, corrupt: 200 });
      expect(total.errors).toEqual({ too_short: 84, bad_magic: 116 });
    });

    test("the residence of the responder is not part of the network's time", async () => {
      box.onAnswer = (packet) => [{ packet, delayMs: 30 }];
      await send(5);
      const { rtt } = await settled(5);
      expect(rtt.min).toBeGreaterThan(0.028);
    });

    test("jitter sums the differences of consecutive round trips", async () => {
      box.onAnswer = (packet, index) => [{ packet, delayMs: index % 2 === 0 ? 60 : 10 }];
      const total = emptyTotal();
      for (let i = 1; i <= 4; i++) {
        await send(1);
        await until("the answer", () => {
          add(total, flow.drain());
          return total.outcomes.received === i;
        });
      }
      const { variationCount, variationSeconds } = total;
      expect(variationCount).toBe(3);
      expect(variationSeconds / variationCount).toBeGreaterThan(0.02);
    });
  });

  describe("a middlebox that has pinned a port to a dead path", () => {
    test.each(["requests", "answers"] as const)("loses %s until the flow has another port", async (lost) => {
      await send(3);
      await settled(3);
      const pinned = box.askerPort;
      const policy: typeof passOn = (packet) => (box.askerPort === pinned ? [] : [{ packet }]);
      if (lost === "requests") box.onRequest = policy;
      else box.onAnswer = policy;
      await send(10);
      const before = await settled(10);
      expect(before.outcomes).toMatchObject({ received: 0, lost: 10 });
      expect(before.renewals).toBe(0);
      const after = emptyTotal();
      await until("an answer", () => {
        flow.prepare();
        flow.send();
        add(after, flow.drain());
        return after.outcomes.received > 0;
      });
      expect(box.askerPort).not.toBe(pinned);
      expect(after.renewals).toBe(1);
      expect(after.outcomes.send_error).toBe(0);
    });

    test("keeps the port of a flow that loses some packets", async () => {
      await send(1);
      const port = box.askerPort;
      box.onRequest = (packet, index) => (index % 5 === 0 ? [{ packet }] : []);
      await send(30);
      const total = await settled(31);
      for (let i = 0; i < 3; i++) {
        await send(5);
        add(total, await settled(5));
      }
      expect(box.askerPort).toBe(port);
      expect(total.renewals).toBe(0);
    });
  });

  describe("a peer that can't be reached", () => {
    test("every send refused by the own kernel is 100 % loss, not no data", async () => {
      // The kernel refuses the broadcast address without SO_BROADCAST (EACCES).
      const blocked = new UdpFlow(context, peerAt({ udpPort: 9 }, { address: "255.255.255.255" }));
      blocked.start();
      let errors: Readonly<Record<string, number>> = {};
      await until("the refusal", () => {
        blocked.prepare();
        blocked.send();
        const snapshot = blocked.drain();
        errors = snapshot.errors;
        expect(snapshot.outcomes).toMatchObject({ sent: 0, received: 0, lost: 0, send_error: 1 });
        expect(lossRatio(snapshot.outcomes)).toBe(1);
        return "EACCES" in errors;
      });
      expect(errors).toEqual({ EACCES: 1 });
      blocked.stop();
    });

    test("a closed port is loss, with the kernel's reason beside it", async () => {
      await responder.close();
      const closed = new UdpFlow(context, peerAt({ udpPort: responder.udpPort }));
      closed.start();
      await until("the socket", () => closed.isOpen);
      closed.prepare();
      closed.send();
      let lost = 0;
      let refused = 0;
      await until("the loss", () => {
        const { outcomes, errors } = closed.drain();
        lost += outcomes.lost;
        refused += errors["ECONNREFUSED"] ?? 0;
        return lost > 0;
      });
      expect({ lost, refused }).toEqual({ lost: 1, refused: 1 });
      closed.stop();
      responder = await openResponder();
    });
  });
});
