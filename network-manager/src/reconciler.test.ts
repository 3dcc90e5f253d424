import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import type { KernelState, RootQdisc, Way } from "./domain/kernel-state.ts";
import { KernelError } from "./ports/errors.ts";
import type { Mode } from "./ports/modes.ts";
import type { KernelPort } from "./ports/ports.ts";
import { Reconciler } from "./reconciler.ts";
import { MemoryKernel } from "./adapters/memory-kernel.ts";
import { flow, plan } from "./testing/plans.ts";

const RETRY_MS = 1_000;
const ways = new Map<string, Way>([["10.1.0.2", { device: "eth0", gateway: null, isLocal: false }]]);
const roots = new Map<string, RootQdisc>([["eth0", { owner: "kernel", name: "mq 0:" }]]);
const PLAN = plan({ flows: [flow(1)] });

function setUp(mode: Mode, port?: KernelPort, isHeld = true) {
  const memory = new MemoryKernel({ ways, roots });
  const clock = new ManualClock();
  const reconciler = new Reconciler({
    mode,
    retryMs: RETRY_MS,
    kernel: port ?? memory,
    lock: { hold: async () => isHeld, release: async () => undefined },
    clock,
    logger: new MemoryLogger(),
  });
  return { reconciler, memory, clock };
}

describe("a reconciler", () => {
  test("sets what the plan wants once", async () => {
    const { reconciler, memory } = setUp("shape");
    const report = await reconciler.run(PLAN);
    expect(report).toMatchObject({ mode: "shape", reason: null, pending: 0, complaints: [] });
    expect(report.changes).toBe(memory.applied);
    expect(await reconciler.run(PLAN)).toMatchObject({ changes: 0, pending: 0 });
    expect(memory.own.marks.size).toBe(1);
  });

  test("leaves everything as it is until a plan is known, and takes it back when there is none", async () => {
    const { reconciler, memory } = setUp("shape");
    await reconciler.run(PLAN);
    expect(await reconciler.run("wait")).toMatchObject({ changes: 0, reason: "no flow plan yet" });
    expect(memory.own.devices.size).toBe(1);
    await reconciler.run(null);
    expect([memory.own.devices.size, memory.hasTable]).toEqual([0, false]);
  });

  test("that only observes takes back what an earlier one has left, before any plan is known", async () => {
    const { reconciler, memory } = setUp("shape");
    await reconciler.run(PLAN);
    const report = await setUp("observe", memory).reconciler.run("wait");
    expect(report).toMatchObject({ mode: "observe", reason: null, pending: 0 });
    expect([memory.own.devices.size, memory.hasTable]).toEqual([0, false]);
  });

  test("touches nothing while another manager has the node", async () => {
    const { reconciler, memory } = setUp("shape", undefined, false);
    const report = await reconciler.run(PLAN);
    expect([report.reason, report.isSecond]).toEqual(["another network manager runs on this node", true]);
    expect(memory.applied).toBe(0);
  });

  test("observes for a while where a part of the kernel is missing, then tries again", async () => {
    const memory = new MemoryKernel({ ways, roots });
    let isMissing = true;
    const port: KernelPort = {
      read: () => memory.read(),
      apply: async (steps) =>
        isMissing ? ["tc: Error: Specified qdisc kind is unknown."] : await memory.apply(steps),
    };
    const { reconciler, clock } = setUp("guarantee", port);
    const report = await reconciler.run(PLAN);
    expect(report).toMatchObject({ mode: "observe" });
    expect(report.reason).toContain("Specified qdisc kind is unknown");
    expect(report.pending).toBeGreaterThan(0);
    isMissing = false;
    expect(await reconciler.run(PLAN)).toMatchObject({ mode: "observe", changes: 0 });
    await clock.advance(RETRY_MS);
    expect(await reconciler.run(PLAN)).toMatchObject({ mode: "guarantee", reason: null, pending: 0 });
  });

  test("says which flow the kernel didn't take", async () => {
    const memory = new MemoryKernel({ ways, roots });
    const port: KernelPort = {
      read: () => memory.read(),
      apply: (steps) => memory.apply(steps.filter(({ tool }) => tool !== "nft")),
    };
    const report = await setUp("shape", port).reconciler.run(PLAN);
    expect(report.pending).toBeGreaterThan(0);
    expect(report.flows[0]).toMatchObject({ place: null, unmet: { reason: "not_in_kernel" } });
  });

  test("changes nothing while the kernel can't be read", async () => {
    const port: KernelPort = {
      read: (): Promise<KernelState> =>
        Promise.reject(new KernelError("not_understood", "tc must print JSON")),
      apply: () => Promise.reject(new Error("not to be called")),
    };
    expect(await setUp("shape", port).reconciler.run(PLAN)).toMatchObject({
      mode: "observe",
      reason: "tc must print JSON",
      kernel: null,
    });
  });
});
