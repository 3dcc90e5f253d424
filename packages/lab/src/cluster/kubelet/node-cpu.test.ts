import { describe, expect, it } from "vitest";
import { NodeCpu } from "./node-cpu.ts";

class HandClock {
  nowMs = 0;
  #timer: { readonly atMs: number; run(): void } | null = null;

  readonly wake = (afterMs: number, run: () => void): (() => void) => {
    const timer = { atMs: this.nowMs + afterMs, run };
    this.#timer = timer;
    return () => {
      if (this.#timer === timer) this.#timer = null;
    };
  };

  monotonic(): number {
    return this.nowMs;
  }

  passTo(endMs: number): void {
    for (let timer = this.#timer; timer !== null && timer.atMs <= endMs; timer = this.#timer) {
      this.#timer = null;
      this.nowMs = Math.max(this.nowMs, timer.atMs);
      timer.run();
    }
    this.nowMs = endMs;
  }
}

function setUp(cpuMillicores: number, slowdown = 1) {
  const clock = new HandClock();
  const done: Record<string, number> = {};
  const cpu = new NodeCpu(cpuMillicores, { slowdown }, clock, clock.wake);
  const work = (pod: string, cpuMs: number, name = pod): void =>
    cpu.work(pod, cpuMs, () => {
      done[name] = clock.nowMs;
    });
  return { clock, cpu, work, done };
}

describe("the CPU of a node", () => {
  it("gives a lone pod one core at most", () => {
    const { clock, work, done } = setUp(4_000);
    work("a", 10);
    clock.passTo(100);
    expect(done).toEqual({ a: 10 });
  });

  it("takes a slowed node as many times longer", () => {
    const { clock, work, done } = setUp(2_000, 8);
    work("a", 10);
    clock.passTo(100);
    expect(done["a"]).toBeCloseTo(80, 6);
  });

  it("shares its cores among busy pods alike", () => {
    const { clock, work, done } = setUp(1_000);
    work("a", 10);
    work("b", 20);
    clock.passTo(100);
    expect(done["a"]).toBeCloseTo(20, 6);
    expect(done["b"]).toBeCloseTo(30, 6);
  });

  it("lets the works of one pod queue, so that they take no share of others", () => {
    const { clock, work, done } = setUp(1_000);
    work("a", 10, "first");
    work("a", 10, "second");
    work("b", 10);
    clock.passTo(100);
    expect(done["first"]).toBeCloseTo(20, 6);
    expect(done["b"]).toBeCloseTo(20, 6);
    expect(done["second"]).toBeCloseTo(30, 6);
  });

  it("counts from when work came, however late it is woken", () => {
    const { clock, work, done, cpu } = setUp(1_000);
    work("a", 10, "first");
    work("a", 10, "second");
    clock.nowMs = 50;
    work("b", 5);
    expect(done).toEqual({ first: 50, second: 50 });
    clock.passTo(55);
    expect(done["b"]).toBe(55);
    expect(cpu.workedMs("a")).toBe(20);
  });

  it("forgets what a removed pod had to do, and keeps what it has done", () => {
    const { clock, cpu, work, done } = setUp(1_000);
    work("a", 10, "first");
    work("a", 10, "second");
    clock.passTo(12);
    cpu.remove("a");
    clock.passTo(100);
    expect(done).toEqual({ first: 10 });
    expect(cpu.workedMs("a")).toBe(10);
  });

  it("can't be faster than the machine", () => {
    expect(() => setUp(1_000, 0.5)).toThrow("slowdown of a CPU must be at least 1, got 0.5");
  });
});
