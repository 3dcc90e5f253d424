// The local clock is set by a second to ten years, forward or back. Values from others' timestamps recover
// within a window.
import { KINDS } from "@isochrone/kubernetes";
import type { InformerChange } from "@isochrone/kubernetes";
import { ManualClock } from "@isochrone/runtime/testing";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PodObserver } from "../adapters/pod-observer.ts";
import { isSettled } from "../streams/domain/profiles.ts";
import { KnownJobs } from "../streams/known-jobs.ts";
import { MemoryGraphs } from "../testing/graphs.ts";
import { graphAgeSeconds, seenGraph } from "./graph-age.ts";
import { Ledger } from "./ledger.ts";

const YEAR_MS = 365 * 86_400_000;
const WINDOW_MS = 30_000;
const KEEP_MS = 60_000;
const SPECIALS = [1_000, 60_000, 3_600_000, YEAR_MS, 10 * YEAR_MS];
const jumps = fc
  .tuple(
    fc.constantFrom(-1, 1),
    fc.oneof(fc.constantFrom(...SPECIALS), fc.integer({ min: 1_000, max: 10 * YEAR_MS })),
  )
  .map(([sign, ms]) => sign * ms);

function timeOf(clock: ManualClock, startMs: number): number {
  return startMs + clock.monotonic();
}

test("graphs are as old as before a jump, and new ones are new, if not by our clock then by their server's", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(jumps, { minLength: 1, maxLength: 4 }), async (steps) => {
      const clock = new ManualClock();
      const startMs = clock.now();
      let skewMs = 0;
      const read = (builtMs: number): { readonly observedAt: string } => {
        const graph = { observedAt: new Date(builtMs).toISOString() };
        seenGraph(graph, {
          nowMs: clock.now(),
          serverMs: timeOf(clock, startMs),
          maxAgeMs: 3 * WINDOW_MS,
          monotonic: () => clock.monotonic(),
        });
        return graph;
      };
      const isUsed = (graph: { readonly observedAt: string }): boolean =>
        graphAgeSeconds(graph, clock.now()) <= (3 * WINDOW_MS) / 1_000;
      for (const step of steps) {
        const before = read(timeOf(clock, startMs));
        const ageSeconds = graphAgeSeconds(before, clock.now());
        clock.stepWall(step);
        skewMs += step;
        expect(graphAgeSeconds(before, clock.now())).toBe(ageSeconds);
        await clock.advance(WINDOW_MS);
        expect(graphAgeSeconds(before, clock.now())).toBeCloseTo(ageSeconds + WINDOW_MS / 1_000, 6);
        expect(isUsed(read(timeOf(clock, startMs)))).toBe(true);
        // Smaller skews than a graph's life can't be detected from its age.
        const isTold = Math.abs(skewMs) > 6 * WINDOW_MS;
        expect(isTold && isUsed(read(timeOf(clock, startMs) - 5 * WINDOW_MS))).toBe(false);
        await clock.advance(4 * WINDOW_MS);
        expect(isUsed(before)).toBe(false);
      }
    }),
  );
});

test("a binding counts for as long as it should, whatever our clock says", async () => {
  await fc.assert(
    fc.asyncProperty(jumps, async (step) => {
      const clock = new ManualClock();
      const startMs = clock.now();
      const ledger = new Ledger(KEEP_MS);
      let emit: (change: InformerChange) => void = () => undefined;
      const observer = new PodObserver({
        pods: { onChange: (take) => ((emit = take), () => undefined), synced: () => Promise.resolve() },
        ledger,
        recorder: { shown: () => undefined },
        decisions: { bound: () => undefined, gone: () => undefined },
        graphs: new MemoryGraphs(),
        keepMs: KEEP_MS,
        clock,
      });
      await observer.start();
      const bind = (name: string): void => {
        const at = `${new Date(timeOf(clock, startMs)).toISOString().slice(0, 19)}Z`;
        const condition = { type: "PodScheduled", status: "True", lastTransitionTime: at };
        const object = {
          ...KINDS.pod,
          metadata: { namespace: "shop", name, uid: name, labels: { app: "web" } },
          spec: { nodeName: "a", containers: [] },
          status: { phase: "Running", conditions: [condition] },
        };
        emit({ type: "modified", object });
      };
      clock.stepWall(step);
      for (const name of ["one", "two"]) {
        bind(name);
        expect(ledger.size).toBe(1);
        await clock.advance(KEEP_MS - 1_500);
        ledger.expire(clock.monotonic());
        expect(ledger.size).toBe(1);
        await clock.advance(3_000);
        ledger.expire(clock.monotonic());
        expect(ledger.size).toBe(0);
      }
    }),
  );
});

test("waiting jobs become patient by the time that passes; profiles are measured again within a day", async () => {
  await fc.assert(
    fc.asyncProperty(jumps, async (step) => {
      const clock = new ManualClock();
      const jobs = new KnownJobs(clock);
      const object = {
        ...KINDS.streamJob,
        metadata: {
          namespace: "site",
          name: "gate",
          uid: "u",
          creationTimestamp: new Date(clock.now()).toISOString(),
        },
        spec: {
          source: { node: "camera", bytesPerFrame: 1 },
          tasks: [
            {
              name: "t",
              requests: { cpu: "1", memory: "1" },
              profile: [{ secondsPerFrame: 1 }],
              template: { spec: { containers: [{ name: "t" }] } },
            },
          ],
        },
      };
      const knownMs = (): unknown => Object(jobs.of(object)).knownMs;
      expect(knownMs()).toBe(0);
      const atMs = clock.now();
      clock.stepWall(step);
      await clock.advance(WINDOW_MS);
      expect(knownMs()).toBe(WINDOW_MS);
      await clock.advance(86_400_000);
      const profile = {
        task: "t",
        kind: "k",
        work: "w",
        image: null,
        node: "n",
        secondsPerFrame: 1,
        failure: null,
      };
      const isOld = Math.abs(clock.now() - atMs) >= 86_400_000;
      expect(isSettled({ ...profile, atMs }, "w", clock.now())).toBe(!isOld);
      expect(isSettled({ ...profile, atMs: clock.now() }, "w", clock.now())).toBe(true);
    }),
  );
});
