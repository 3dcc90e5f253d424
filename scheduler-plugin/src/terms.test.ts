import { KINDS } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import type { Leadership, LeadershipListener } from "./leadership.ts";
import { Terms } from "./terms.ts";

/** An election that the test decides. */
class DecidedElection {
  leads = false;
  #listener: LeadershipListener | null = null;
  readonly #log: string[];

  constructor(log: string[]) {
    this.#log = log;
  }

  join(listener: LeadershipListener): Leadership {
    this.#listener = listener;
    return {
      isLeader: () => this.leads,
      start: () => Promise.resolve(),
      stop: () => {
        this.#log.push("given up");
        if (this.leads) this.decide(false);
        return Promise.resolve();
      },
    };
  }

  decide(leads: boolean): void {
    this.leads = leads;
    if (leads) this.#listener?.onStartedLeading();
    else this.#listener?.onStoppedLeading();
  }
}

let log: string[];
let election: DecidedElection;
/** Ends the stop of the term of that number. */
let gone: (() => void)[];
let running: boolean;
let terms: Terms<{ readonly number: number; stop(): Promise<void> }>;

beforeEach(() => {
  log = [];
  gone = [];
  running = false;
  election = new DecidedElection(log);
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

test("leading is given up when all terms are gone and what was done was told", async () => {
  election.decide(true);
  election.decide(false);
  election.decide(true);
  const stopped = terms.stop(() => {
    log.push(`told, as ${terms.isLeader() ? "the leader" : "nobody"}`);
    return Promise.resolve();
  });
  gone[2]!();
  await Promise.resolve();
  expect(log).not.toContain("told, as the leader");
  gone[1]!();
  await stopped;
  expect(log.slice(-4)).toEqual(["gone 2", "gone 1", "told, as the leader", "given up"]);
  expect(running).toBe(false);
});

test("nothing begins after the stop", async () => {
  await terms.stop();
  election.decide(true);
  expect(terms.current).toBeNull();
  expect(log).toEqual(["given up"]);
});

test("the store writes for a leader only, and reads for everyone", async () => {
  const store = terms.storeOf(createMemoryStore({ clock: new ManualClock() }));
  const lease = { ...KINDS.lease, metadata: { namespace: "isochrone", name: "x" } };
  await expect(store.create(lease)).rejects.toThrow(/does not hold the lease isochrone-scheduler-plugin/);
  expect((await store.list(KINDS.lease)).items).toEqual([]);
  election.decide(true);
  await expect(store.create(lease)).resolves.toMatchObject({ metadata: { name: "x" } });
});
