import { pause, seededRandom } from "@isochrone/runtime";
import type { Clock, Random } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { expect, it } from "vitest";

import { createMemoryStore } from "../adapters/memory/memory.ts";
import { createLeaderElection } from "./lease-election.ts";
import type { LeaderElection } from "./lease-election.ts";
import type { ClusterStore } from "../store/port.ts";

const CANDIDATES = 3;
const CHAOS_MS = 120_000;
const STEP_MS = 200;

/**
 * A candidate's environment: its wall clock jumps, its event loop freezes, its requests get lost either way.
 */
class World implements Clock {
  chaos = true;
  readonly #clock: ManualClock;
  readonly #random: Random;
  #wallOffsetMs = 0;
  #frozenUntilMs = 0;

  constructor(clock: ManualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  now(): number {
    return this.#clock.now() + this.#wallOffsetMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal);
    await this.#thaw();
  }

  upset(): void {
    const draw = this.#random.next();
    if (draw < 0.02) this.#wallOffsetMs += (this.#random.next() - 0.5) * 1e9;
    else if (draw < 0.03) this.#frozenUntilMs = this.monotonic() + 30_000 * this.#random.next();
  }

  around(store: ClusterStore): ClusterStore {
    return {
      ...store,
      get: (ref) => this.#request(() => store.get(ref)),
      create: (object) => this.#request(() => store.create(object)),
      update: (object) => this.#request(() => store.update(object)),
      watch: (kind, options) => store.watch(kind, options),
    };
  }

  async #request<T>(work: () => Promise<T>): Promise<T> {
    await this.#way();
    const result = await work();
    await this.#way();
    await this.#thaw();
    return result;
  }

  async #way(): Promise<void> {
    const draw = this.chaos ? this.#random.next() : 1;
    if (draw < 0.05) throw new Error("lost");
    const slowMs = draw < 0.15 ? 20_000 : 300;
    await pause(this.#clock, this.chaos ? slowMs * this.#random.next() : 5, new AbortController().signal);
  }

  async #thaw(): Promise<void> {
    while (this.#frozenUntilMs > this.monotonic())
      await this.#clock.sleep(this.#frozenUntilMs - this.monotonic());
  }
}

const seeds = Array.from({ length: 24 }, (_, index) => index + 1);

it.each(seeds)("never two lead at one time, and in the end one does (seed %i)", async (seed) => {
  const clock = new ManualClock();
  const random = seededRandom(seed);
  const store = createMemoryStore({ clock });
  let lives = 0;
  const join = (world: World): LeaderElection => {
    lives += 1;
    const election = createLeaderElection({
      store: world.around(store),
      clock: world,
      random: seededRandom(seed * 1000 + lives),
      logger: new MemoryLogger(),
      namespace: "n",
      name: "l",
      identity: `life-${lives}`,
    });
    election.start();
    return election;
  };
  const worlds = Array.from({ length: CANDIDATES }, () => new World(clock, random));
  const elections = worlds.map(join);
  const crashed: LeaderElection[] = [];
  const stopping: Promise<void>[] = [];
  const terms = new Set<number>();
  for (let elapsedMs = 0; elapsedMs < CHAOS_MS; elapsedMs += STEP_MS) {
    for (const world of worlds) world.upset();
    // Stops a candidate, or crashes it without a stop, so that it may run next to its successor.
    if (random.next() < 0.01) {
      const index = Math.floor(random.next() * CANDIDATES);
      if (random.next() < 0.5) stopping.push(elections[index]!.stop());
      else crashed.push(elections[index]!);
      worlds[index] = new World(clock, random);
      elections[index] = join(worlds[index]);
    }
    await clock.advance(STEP_MS);
    const leading = [...elections, ...crashed].flatMap((one, index) => (one.isLeader() ? [index] : []));
    expect(leading.length).toBeLessThanOrEqual(1);
    for (const index of leading) terms.add(index);
  }
  expect(terms.size).toBeGreaterThan(0);
  for (const world of worlds) world.chaos = false;
  for (const one of crashed) stopping.push(one.stop());
  await clock.advance(70_000);
  expect(elections.filter((one) => one.isLeader()).length).toBe(1);
  const leader = elections.find((one) => one.isLeader())!;
  expect(elections.map((one) => one.holder()?.identity)).toEqual(
    elections.map(() => leader.holder()?.identity),
  );
  stopping.push(...elections.map((one) => one.stop()));
  await clock.advance(30_000);
  await Promise.all(stopping);
  expect(clock.pending).toBe(0);
});
