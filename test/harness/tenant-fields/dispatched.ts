import { ask, DispatchRig } from "@isochrone/dispatcher/testing";
import { DISPATCH_ANNOTATIONS, KINDS } from "@isochrone/kubernetes";
import { once } from "node:events";
import { createServer as createHttp1, type ServerResponse } from "node:http";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { headTrial } from "./raw.ts";
import { textOf, type Outcome, type Trials } from "./trial.ts";

const HOST = "127.0.0.1";
const PLACES = 20;
/** Time for sent data to arrive. */
const SETTLE_MS = 200;
const QUIET = 5;

export async function dispatchedTrials(): Promise<Trials> {
  const rig = await new DispatchRig({ config: { maxInFlight: PLACES } }).start();
  await rig.service("web");
  const waiting = new Set<ServerResponse>();
  let report = "";
  const server = createHttp1({ keepAliveTimeout: 60_000, maxHeaderSize: 65_536 }, (request, response) => {
    request.resume();
    response.on("error", () => undefined);
    response.once("close", () => waiting.delete(response));
    if (report !== "") response.setHeader("endpoint-load-metrics", report);
    if (request.url === "/wait") waiting.add(response);
    else response.end("ok");
  });
  await rig.serve(server);
  const counted = async (name: string, labels: Readonly<Record<string, string>>): Promise<number> => {
    const values = await rig.metric(name);
    return values.find((each) => JSON.stringify(each.labels) === JSON.stringify(labels))?.value ?? 0;
  };
  const arrivals = (): Promise<number> => settled(() => waiting.size);
  const release = async (): Promise<void> => {
    do {
      for (const response of waiting) response.end("ok");
      await sleep(10);
    } while ((await counted("in_flight", {})) > 0);
  };
  const refusal = async (send: () => ReturnType<typeof ask>, wanted = 200): Promise<Outcome> => {
    const { status, headers } = await send();
    const reason = headers["isochrone-reason"];
    return { isCut: status !== wanted, named: status === wanted ? null : `${status} ${String(reason)}` };
  };

  let services = 0;
  let slices = 0;
  /** A log line names the Service and the rule. */
  const named = async (annotations: Readonly<Record<string, string>>): Promise<Outcome> => {
    const name = `annotated-${services++}`;
    await rig.service(name, { annotations });
    await until(async () => (await ask(rig.port, { host: `${name}.shop` })).status !== 404);
    const line = rig.logger.lines.find(({ fields }) => fields["service"] === `shop/${name}`);
    return { isCut: line !== undefined, named: line === undefined ? null : JSON.stringify(line.fields) };
  };

  const trials: Trials["trials"] = {
    "head of a request": (amount) => headTrial(rig.port, { path: "/", host: "web.shop" }, amount),
    "pipelined requests of a connection": async (amount) => {
      const before = await counted("refused_total", { reason: "pipelined" });
      const socket = connect(rig.port, HOST);
      socket.on("error", () => undefined);
      await once(socket, "connect");
      socket.write("GET /wait HTTP/1.1\r\nhost: web.shop\r\n\r\n".repeat(amount));
      // Beyond the limit, the dispatcher closes the connection and its request to the endpoint.
      await settled(
        () => waiting.size,
        () => socket.destroyed,
      );
      const named = (await counted("refused_total", { reason: "pipelined" })) - before;
      socket.destroy();
      await release();
      return { isCut: named > 0, named: named > 0 ? `${named} counted as pipelined` : null };
    },
    "streams of an HTTP/2 connection": async (amount) => {
      const wide = await new DispatchRig({ config: { maxInFlight: 4 * amount } }).start();
      try {
        await wide.service("web");
        let open = 0;
        await wide.endpoint(() => void open++);
        await until(async () => (await ask(wide.port, { host: "gone.shop" })).status === 404);
        const session = connectHttp2(wide.url);
        session.on("error", () => undefined);
        await once(session, "remoteSettings");
        for (let each = 0; each < amount; each++)
          session.request({ ":path": "/", ":authority": "web.shop" }).on("error", () => undefined);
        await settled(() => open);
        const most = session.remoteSettings.maxConcurrentStreams;
        session.close();
        session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
        return { isCut: open < amount, named: `SETTINGS: ${most}` };
      } finally {
        await wide.stop();
      }
    },
    "requests of one client under way": async (amount) => {
      const before = await counted("refused_total", { reason: "overloaded" });
      const sent = Math.ceil((PLACES * amount) / 100);
      const answers = Array.from({ length: sent }, () => ask(rig.port, { path: "/wait" }));
      const ended = new Set<unknown>();
      for (const answer of answers) answer.finally(() => ended.add(answer)).catch(() => undefined);
      const taken = await arrivals();
      const refused = (await counted("refused_total", { reason: "overloaded" })) - before;
      // Some connections come late, because the kernel's accept queue was full.
      while (ended.size < sent) await release();
      return { isCut: taken < sent, named: refused > 0 ? `${refused} counted as overloaded` : null };
    },
    "`isochrone-hops`": (amount) => {
      const hops = Array.from({ length: amount - 1 }, (_, at) => `a${at}/b`).join(",");
      return refusal(() => ask(rig.port, { headers: hops === "" ? {} : { "isochrone-hops": hops } }));
    },
    "`x-envoy-upstream-rq-timeout-ms`": async (amount) => {
      await ask(rig.port, { headers: { "x-envoy-upstream-rq-timeout-ms": String(amount) } });
      const leftMs = rig.dispatcher.decisions(null, 1)[0]?.leftMs ?? null;
      return { isCut: leftMs === null, named: `decision with ${leftMs}` };
    },
    "`isochrone.dev/load-path`": (amount) => named({ [DISPATCH_ANNOTATIONS.loadPath]: textOf(amount, "/") }),
    "`isochrone.dev/deadline` of a dispatched Service": (amount) =>
      named({ [DISPATCH_ANNOTATIONS.deadline]: `${amount}ms` }),
    "host of a request": (amount) => refusal(() => ask(rig.port, { host: textOf(amount, "web.shop.svc.") })),
    "`endpoint-load-metrics`": async (amount) => {
      const before = await counted("load_reports_total", { result: "malformed" });
      report = textOf(amount, "TEXT cpu_utilization=0.5,", "=1");
      const { status } = await ask(rig.port);
      report = "";
      const malformed = (await counted("load_reports_total", { result: "malformed" })) - before;
      const isCut = malformed > 0 || status !== 200;
      return { isCut, named: isCut ? `${malformed} malformed, status ${status}` : null };
    },
    "endpoints in all EndpointSlices of a Service": async (amount) => {
      const service = `slices-${slices++}`;
      await rig.service(service);
      const port = await rig.listen(createHttp1((_, response) => response.end()));
      const { metadata } = await rig.pod(service, { labels: { app: service }, node: "node-west" });
      const targetRef = { kind: "Pod", name: service, uid: metadata.uid };
      const before = await counted("endpoints_refused", { reason: "too_many" });
      const input = await rig.store.create({
        ...KINDS.endpointSlice,
        metadata: { namespace: "shop", name: service, labels: { "kubernetes.io/service-name": service } },
        addressType: "IPv4",
        ports: [{ name: "http", port, protocol: "TCP" }],
        endpoints: Array.from({ length: amount }, () => ({ addresses: [HOST], targetRef })),
      });
      await until(async () => (await ask(rig.port, { host: `${service}.shop` })).status === 200);
      const refused = (await counted("endpoints_refused", { reason: "too_many" })) - before;
      await rig.store.delete({ ...KINDS.endpointSlice, namespace: "shop", name: service });
      await until(async () => (await counted("endpoints_refused", { reason: "too_many" })) === 0);
      return { isCut: refused > 0, named: refused > 0 ? `${refused} counted as too_many` : null, input };
    },
  };
  await until(async () => (await ask(rig.port)).status === 200);
  return { trials, stop: () => rig.stop() };
}

/** Returns a stable count above 0, or the last count. */
async function settled(count: () => number, isOver: () => boolean = () => false): Promise<number> {
  let [last, quiet] = [0, 0];
  while (quiet < QUIET && !isOver()) {
    await sleep(SETTLE_MS);
    const now = count();
    quiet = now > 0 && now === last ? quiet + 1 : 0;
    last = now;
  }
  return last;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(10);
}
