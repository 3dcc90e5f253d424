// Whole replicas on one API server over HTTP: all give the same answers.
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { DecisionList } from "@isochrone/topology";
import { describe, expect, onTestFinished, test } from "vitest";
import { PeerRig } from "../testing/peer-rig.ts";
import type { PeerReplica } from "../testing/peer-rig.ts";

const NAMES = ["a", "b", "c"] as const;

async function started(names: readonly string[] = NAMES) {
  const rig = new PeerRig();
  const replicas: PeerReplica[] = [];
  for (const name of names) replicas.push(await rig.start(name));
  await allListed(rig, replicas);
  return { rig, replicas };
}

async function allListed(rig: PeerRig, replicas: readonly PeerReplica[]): Promise<void> {
  for (const replica of replicas)
    await expect
      .poll(async () => {
        await rig.clock.advance(100);
        return await replica.metric('isochrone_scheduler_replica_pulls_total{outcome="answered"}');
      })
      .toBeGreaterThanOrEqual(replicas.length - 1);
}

async function stranger(rig: PeerRig, name: string, listener: RequestListener): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await rig.list(name, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const page = { replica: "x", life: "x1", leads: true, more: false, plans: [], proposals: null };
const json =
  (body: unknown): RequestListener =>
  (_, response) =>
    void response.setHeader("content-type", "application/json").end(JSON.stringify(body));

const HOSTILE: Readonly<Record<string, RequestListener>> = {
  "that is no JSON": (_, response) => void response.end("<html>"),
  "that is no page": json({ decisions: [] }),
  "without end": (_, response) => {
    const more = (): void => void (response.destroyed || response.write("x".repeat(1 << 20), more));
    more();
  },
  "that breaks off": (_, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{");
    response.destroy();
  },
  "that always has more": json({ ...page, more: true, cursor: "x1.1.1.1", decisions: [] }),
  "with a redirect": (_, response) => void response.writeHead(302, { location: "/" }).end(),
  "of status 500": (_, response) => void response.writeHead(500).end(),
};

const podsOf = ({ decisions }: DecisionList): string[] => decisions.map(({ pod }) => pod.name).sort();

describe("of several replicas", () => {
  test("each knows at once what each decided, by whom and when, and where the pods are", async () => {
    const { rig, replicas } = await started();
    for (let index = 0; index < 9; index++) {
      await rig.clock.advance(7);
      await replicas[index % 3]!.decide(`p-${index}`);
      for (const replica of replicas) expect(podsOf(await replica.decisions())).toContain(`p-${index}`);
      if (index % 2 === 0) await rig.bind(`p-${index}`, "n1");
    }
    const states = ({ decisions }: DecisionList) => decisions.filter(({ binding }) => binding?.node === "n1");
    for (const replica of replicas)
      await expect.poll(async () => states(await replica.decisions()).length).toBe(5);
    const [first, ...others] = await Promise.all(replicas.map((each) => each.decisions()));
    expect(first!.incomplete).toBeUndefined();
    expect(first!.decisions).toHaveLength(9);
    for (const { pod, replica } of first!.decisions)
      expect(replica).toBe(NAMES[Number(pod.name.slice(2)) % 3]);
    for (const other of others) expect(other).toEqual(first);
  });

  test("each asks the scorer again as the one that decided does", async () => {
    const { replicas } = await started(["a", "b"]);
    const [a, b] = replicas as [PeerReplica, PeerReplica];
    await a.decide("p-1");
    const query = "?pod=p-1&now=true";
    const [own, copied] = [await a.decisions(query), await b.decisions(query)];
    expect(own.decisions[0]!.peers!.length).toBeGreaterThan(0);
    const withoutTime = ({ decisions: [decision] }: DecisionList) => ({
      ...decision,
      now: { ...decision!.now, at: null, inputs: null },
    });
    expect(withoutTime(copied)).toEqual(withoutTime(own));
    expect(await b.get(`/api/v1/decisions/${own.decisions[0]!.id}`)).toEqual(
      await a.get(`/api/v1/decisions/${own.decisions[0]!.id}`),
    );
  });

  test("decisions outlive the replica that made them, and reach those that start later", async () => {
    const { rig, replicas } = await started(["a", "b"]);
    const [a, b] = replicas as [PeerReplica, PeerReplica];
    await a.decide("p-1");
    const before = await b.decisions();
    await a.stop();
    await rig.unlist("a");
    await expect.poll(async () => (await b.decisions()).incomplete).toBeUndefined();
    expect(await b.decisions()).toEqual(before);
    const late = await rig.start("c");
    await expect.poll(async () => podsOf(await late.decisions())).toEqual(["p-1"]);
    const again = await rig.start("a");
    await expect.poll(async () => (await again.decisions()).decisions).toEqual(before.decisions);
  });

  test("one that is listed and gone is named, and so is one that hangs; the others answer in time", async () => {
    const { rig, replicas } = await started(["a", "b"]);
    const [a, b] = replicas as [PeerReplica, PeerReplica];
    await b.decide("p-1");
    await stranger(rig, "hangs", () => undefined);
    await expect.poll(async () => (await a.decisions()).incomplete).toEqual(["hangs"]);
    const sinceMs = rig.clock.monotonic();
    expect(podsOf(await a.decisions())).toEqual(["p-1"]);
    expect(rig.clock.monotonic() - sinceMs).toBeLessThan(1_000);
    await b.stop();
    await expect.poll(async () => (await a.decisions()).incomplete).toEqual(["b", "hangs"]);
    expect(podsOf(await a.decisions())).toEqual(["p-1"]);
    expect((await a.proposals()).incomplete).toEqual(["b", "hangs"]);
    expect(await a.metric("isochrone_scheduler_incomplete_answers_total")).toBeGreaterThan(2);
    expect(await a.metric('isochrone_scheduler_replica_pulls_total{outcome="failed"}')).toBeGreaterThan(0);
    await rig.unlist("b");
    await rig.unlist("hangs");
    await expect.poll(async () => (await a.decisions()).incomplete).toBeUndefined();
  });

  test("one without a Service asks nobody, and tells nobody its records", async () => {
    const rig = new PeerRig();
    const alone = await rig.start("a", {}, { serviceName: null });
    await alone.decide("p-1");
    expect((await alone.decisions()).decisions).toHaveLength(1);
    expect(await alone.get("/api/v1/replica-records")).toMatchObject({ status: 404 });
  });
});

describe("what only the leader works out", () => {
  const CONFIG = { intervalMs: 5_000, planMs: 50, maxPairs: 1_000, seed: 1 };

  interface Leading {
    readonly replica?: string;
    readonly mode: string;
  }

  async function led() {
    const rig = new PeerRig();
    await rig.runWorkflow();
    const both = [await rig.start("a", { proposals: CONFIG }), await rig.start("b", { proposals: CONFIG })];
    await allListed(rig, both);
    await expect
      .poll(
        async () => {
          await rig.clock.advance(1_000);
          return (await Promise.all(both.map((each) => each.proposals()))).every(
            ({ plans }) => plans.length > 0,
          );
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    const [isFirst] = await Promise.all(
      both.map(async (each) => (await each.get<{ leads: boolean }>("/api/v1/replica-records")).leads),
    );
    const [leader, other] = isFirst === true ? both : both.toReversed();
    return { rig, leader: leader!, other: other! };
  }

  test("proposals and the descheduler's report are the leader's, whichever is asked, and survive it", async () => {
    const { rig, leader, other } = await led();
    const proposed = await leader.proposals();
    expect(proposed.plans[0]!.replica).toBe(leader.name);
    expect(await other.proposals()).toEqual(proposed);
    expect((await other.get<Leading>("/api/v1/descheduler")).replica).toBe(leader.name);
    expect(await other.get("/api/v1/savings")).toEqual(await leader.get("/api/v1/savings"));
    await leader.stop();
    await rig.unlist(leader.name);
    await expect.poll(async () => (await other.proposals()).incomplete).toBeUndefined();
    const moves = ({ plans }: typeof proposed) => plans.map(({ workflow, pods }) => ({ workflow, pods }));
    expect(moves(await other.proposals())).toEqual(moves(proposed));
    await expect
      .poll(
        async () => {
          await rig.clock.advance(1_000);
          return (await other.proposals()).plans[0]!.replica;
        },
        { timeout: 20_000 },
      )
      .toBe(other.name);
    expect(moves(await other.proposals())).toEqual(moves(proposed));
    expect((await other.get<Leading>("/api/v1/descheduler")).replica).toBe(other.name);
  });

  const UNREADABLE = Object.entries(HOSTILE).filter(
    ([what]) => !what.includes("page") && !what.includes("more"),
  );
  test.for([...UNREADABLE, ["that never comes", (): void => undefined] as const])(
    "an answer %s of a replica that claims to lead is passed on to nobody",
    async ([, listener]) => {
      const { rig, leader, other } = await led();
      let asked = 0;
      // It sorts first, so it is asked before others that claim to lead.
      await stranger(rig, "0", (request, response) => {
        if (request.url!.startsWith("/api/v1/replica-records"))
          return json({ ...page, cursor: "x1.1.1.1", decisions: [] })(request, response);
        asked++;
        return listener(request, response);
      });
      await expect
        .poll(
          async () => {
            await rig.clock.advance(1_000);
            const { replica } = await other.get<Leading>("/api/v1/descheduler");
            expect([leader.name, other.name]).toContain(replica);
            return asked;
          },
          { timeout: 5_000 },
        )
        .toBeGreaterThan(0);
      const { plans } = await other.proposals();
      expect(plans.map(({ replica }) => replica)).toEqual([leader.name]);
    },
  );
});

describe("another replica's answer", () => {
  test.for(Object.entries(HOSTILE))("%s is not taken, and the replica is named", async ([, listener]) => {
    const rig = new PeerRig();
    const a = await rig.start("a");
    await a.decide("p-1");
    await stranger(rig, "x", listener);
    await expect.poll(async () => (await a.decisions()).incomplete).toEqual(["x"]);
    expect(podsOf(await a.decisions())).toEqual(["p-1"]);
  });

  test("with records that are none is taken without them; what is known isn't replaced", async () => {
    const rig = new PeerRig();
    const a = await rig.start("a");
    await a.decide("p-1");
    const { decisions: own } = await a.decisions();
    const told = await a.get<{ decisions: Record<string, unknown>[] }>("/api/v1/replica-records");
    const [wire] = told.decisions as [Record<string, unknown> & { decision: object }];
    const forged = [
      { ...wire, decision: { ...wire.decision, best: "n3", explanation: ["forged"] } },
      { ...wire, decision: { ...wire.decision, id: "x".repeat(1_000) } },
      { ...wire, decision: { ...wire.decision, id: "late-1", at: "tomorrow" } },
      { ...wire, identity: { namespace: "other", name: "p-1" } },
      { ...wire, decision: { ...wire.decision, id: "good-1" } },
      null,
      "x",
    ];
    await stranger(
      rig,
      "x",
      json({ ...page, cursor: "x1.1.1.1", decisions: forged, plans: [7], proposals: [{ id: 1 }] }),
    );
    await expect.poll(async () => (await a.decisions()).decisions.map(({ id }) => id)).toContain("good-1");
    const { decisions, incomplete } = await a.decisions();
    expect(incomplete).toBeUndefined();
    expect(decisions).toHaveLength(2);
    expect(decisions.find(({ id }) => id === own[0]!.id)).toEqual(own[0]);
    expect(await a.metric('isochrone_scheduler_replica_records_total{outcome="refused"}')).toBeGreaterThan(0);
  });
});
