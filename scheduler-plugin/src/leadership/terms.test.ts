import { KINDS } from "@isochrone/kubernetes";
import type { Membership } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import type { LeadershipListener } from "@isochrone/kubernetes/testing";
import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { Terms } from "./terms.ts";

class DecidedElection {
  leads = false;
  #listener: LeadershipListener | null = null;

  isLeader(): boolean {
    return this.leads;
  }

  join(listener: LeadershipListener): Membership {
    this.#listener = listener;
    return { isLeader: () => this.leads, start: () => undefined, stop: () => undefined };
  }

  decide(leads: boolean): void {
    this.leads = leads;
    if (leads) this.#listener?.onStartedLeading();
    else this.#listener?.onStoppedLeading();
  }
}

let log: string[];
let election: DecidedElection;
let gone: (() => void)[];
let running: boolean;
let terms: Terms<{ readonly number: number; stop(): Promise<void> }>;

beforeEach(() => {
  log = [];
  gone = [];
  running = false;
  election = new DecidedElection();
  let last = 0;
  terms = new Terms({
    leadership: election,
    begin: () => {
      const number = ++last;
      log.push(`begin ${number}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      gone[number] = resolve;
      return {
        number,
        stop: () => {
          log.push(`end ${number}`);
          return promise.then(() => void log.push(`gone ${number}`));
        },
      };
    },
    onTerm: (runs) => (running = runs),
  });
});

test("a term lasts as long as this replica leads, and each has its own", () => {
  expect(terms.current).toBeNull();
  election.decide(true);
  expect([terms.current?.number, running]).toEqual([1, true]);
  election.decide(false);
  expect([terms.current, running]).toEqual([null, false]);
  election.decide(true);
  expect([terms.current?.number, running]).toEqual([2, true]);
  expect(log).toEqual(["begin 1", "end 1", "begin 2"]);
});

test("a stop lasts until all terms are gone, which may write until then", async () => {
  election.decide(true);
  election.decide(false);
  election.decide(true);
  const stopped = terms.stop().then(() => void log.push("stopped"));
  expect(terms.isLeader()).toBe(true);
  gone[2]!();
  await Promise.resolve();
  expect(log).not.toContain("stopped");
  gone[1]!();
  await stopped;
  expect(log.slice(-3)).toEqual(["gone 2", "gone 1", "stopped"]);
  expect(running).toBe(false);
});

test("nothing begins after the stop", async () => {
  await terms.stop();
  election.decide(true);
  expect(terms.current).toBeNull();
  expect(log).toEqual([]);
});

test("the store writes for a leader only, and reads for everyone", async () => {
  const store = terms.storeOf(createMemoryStore({ clock: new ManualClock() }));
  const lease = { ...KINDS.lease, metadata: { namespace: "isochrone", name: "x" } };
  await expect(store.create(lease)).rejects.toThrow(/does not hold the lease isochrone-scheduler-plugin/);
  expect((await store.list(KINDS.lease)).items).toEqual([]);
  election.decide(true);
  await expect(store.create(lease)).resolves.toMatchObject({ metadata: { name: "x" } });
});
