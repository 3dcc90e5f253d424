// Next to each input, an honest client calls an honest endpoint and must get its own response.
import { DispatchRig } from "@isochrone/dispatcher/testing";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect as connectHttp2, createServer as createHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect, createServer as createTcp, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  drawAnswerFrames,
  drawClientFrames,
  onStream,
  PLAIN_ANSWER,
  SERVER_PREFACE,
  streamsBegun,
} from "./dispatcher-frames.ts";
import { drawAnswers, drawRequests } from "./dispatcher-messages.ts";
import { mutateBytes } from "./mutate.ts";
import { Violation, type Outcome, type Target } from "./oracle.ts";
import type { Draws } from "./random.ts";

const HOST = "127.0.0.1";
/** Timeout of an exchange that neither side ends. Valid exchanges are awaited. */
const MOST_MS = 60;
const VALID_MOST_MS = 10_000;

const CLIENTS = [
  "GET /a HTTP/1.1\r\nHost: web.shop\r\nConnection: close\r\n\r\n",
  "POST /a HTTP/1.1\r\nHost: web.shop\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n2\r\nab\r\n0\r\nx-sum: 1\r\n\r\n",
  "POST /a HTTP/1.1\r\nHost: web.shop\r\nContent-Type: application/grpc\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nkeep-alive: x\r\n\r\n",
  "POST /a HTTP/1.1\r\nHost: plain.shop\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nabGET /b HTTP/1.1\r\nHost: web.shop\r\n\r\n",
  "GET /a HTTP/1.1\r\nHost: plain.shop\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
].map((text) => Buffer.from(text, "latin1"));

const ANSWERS = [
  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n",
  "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbytes",
  "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTE: gzip\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nConnection: close\r\nendpoint-load-metrics: TEXT cpu_utilization=0.3\r\n\r\nuntil the end",
].map((text) => Buffer.from(text, "latin1"));

const SMALLEST = Buffer.from("GET /a HTTP/1.1\r\nHost: web.shop\r\nConnection: close\r\n\r\n");

export async function dispatcherClients(): Promise<Target> {
  const lab = await new Lab().start();
  return {
    name: "dispatcher-clients",
    seeds: [SMALLEST],
    iterations: 300,
    mutate: (draws) =>
      draws.chance(0.5) ? drawRequests(draws) : mutateBytes(draws, draws.pick(CLIENTS), CLIENTS),
    run: (input) => lab.client(Buffer.from(input)),
    close: () => lab.stop(),
  };
}

export async function dispatcherEndpoints(): Promise<Target> {
  const lab = await new Lab().start();
  return {
    name: "dispatcher-endpoints",
    seeds: [ANSWERS[0]!],
    iterations: 300,
    mutate: (draws) =>
      draws.chance(0.5) ? drawAnswers(draws) : mutateBytes(draws, draws.pick(ANSWERS), ANSWERS),
    run: (input) => lab.endpoint(Buffer.from(input)),
    close: () => lab.stop(),
  };
}

export async function dispatcherClientFrames(): Promise<Target> {
  const lab = await new Lab().start();
  return {
    name: "dispatcher-client-frames",
    seeds: [SMALLEST],
    iterations: 100,
    mutate: (draws) => orMutated(draws, drawClientFrames(draws)),
    run: (input) => lab.client(Buffer.from(input)),
    close: () => lab.stop(),
  };
}

export async function dispatcherEndpointFrames(): Promise<Target> {
  const lab = await new Lab().start();
  return {
    name: "dispatcher-endpoint-frames",
    seeds: [PLAIN_ANSWER],
    iterations: 100,
    mutate: (draws) => orMutated(draws, drawAnswerFrames(draws)),
    run: (input) => lab.frames(Buffer.from(input)),
    close: () => lab.stop(),
  };
}

function orMutated(draws: Draws, bytes: Buffer): Uint8Array {
  return draws.chance(0.8) ? bytes : mutateBytes(draws, bytes, [bytes]);
}

/** HTTP/2 headers, trailers and stream ends of a client and an endpoint at once. */
export async function dispatcherStreams(): Promise<Target> {
  const lab = await new Lab().start();
  return {
    name: "dispatcher-streams",
    seeds: [Buffer.from(JSON.stringify({ head: {}, trailers: {}, answer: {}, answerTrailers: {} }))],
    iterations: 300,
    mutate: (draws) => Buffer.from(JSON.stringify(drawStream(draws))),
    run: (input) => lab.stream(JSON.parse(Buffer.from(input).toString()) as StreamPlan),
    close: () => lab.stop(),
  };
}

interface StreamPlan {
  readonly head: OutgoingHttpHeaders;
  readonly trailers: OutgoingHttpHeaders;
  readonly answer: OutgoingHttpHeaders;
  readonly answerTrailers: OutgoingHttpHeaders;
  readonly end?: string;
  readonly answerEnd?: string;
}

const NAMES = [
  "x-a",
  "te",
  "grpc-status",
  "grpc-timeout",
  "content-type",
  "content-length",
  "host",
  "cookie",
  "set-cookie",
  "trailer",
  "expect",
  "isochrone-hops",
  "endpoint-load-metrics",
  "x-ä",
];
const VALUES = [
  "",
  "1",
  "trailers",
  "gzip",
  "application/grpc",
  "0",
  "99999999999",
  "1m",
  "a".repeat(9_000),
  "x\u00e4",
  "-1",
  "100-continue",
];
const ENDS = ["end", "reset", "goaway", "destroy", "half"];

function drawStream(draws: Draws): StreamPlan {
  const fields = (): OutgoingHttpHeaders =>
    Object.fromEntries(Array.from({ length: draws.below(4) }, () => [draws.pick(NAMES), draws.pick(VALUES)]));
  const status = draws.chance(0.3) ? { ":status": draws.pick([200, 204, 304, 404, 503, 600]) } : {};
  return {
    head: fields(),
    trailers: fields(),
    answer: { ...fields(), ...status },
    answerTrailers: fields(),
    end: draws.pick(ENDS),
    answerEnd: draws.pick(ENDS),
  };
}

class Lab {
  readonly #rig = new DispatchRig();
  #answer: Buffer = ANSWERS[0]!;
  #frames: Buffer = PLAIN_ANSWER;
  #plan: StreamPlan | null = null;
  #token = 0;
  #mostMs = MOST_MS;

  async start(): Promise<this> {
    await this.#rig.start();
    for (const service of ["web", "plain", "odd"]) await this.#rig.service(service);
    for (const service of ["streams", "frames"])
      await this.#rig.service(service, { appProtocol: "kubernetes.io/h2c" });
    // Both client Services share one kind of endpoint, and honest requests share its connections.
    for (const service of ["web", "plain"])
      await this.#rig.endpoint(
        (asked, response) => {
          asked.resume();
          response.setHeader("x-token", asked.headers["x-token"] ?? "");
          response.end("honest");
        },
        { service },
      );
    await this.#rig.serve(
      createTcp((socket) => {
        socket.on("error", () => undefined);
        socket.on("data", () => socket.write(this.#answer));
      }),
      { service: "odd" },
    );
    await this.#rig.serve(this.#streams(), { service: "streams" });
    await this.#rig.serve(
      createTcp((socket) => {
        socket.on("error", () => undefined);
        socket.write(SERVER_PREFACE);
        const preface = HTTP2_PREFACE_BYTES;
        let isFirst = true;
        socket.on("data", (chunk: Buffer) => {
          const begun = streamsBegun(isFirst ? chunk.subarray(preface) : chunk);
          isFirst = false;
          for (const stream of begun) socket.write(onStream(this.#frames, stream));
        });
      }),
      { service: "frames" },
    );
    while (
      !(await this.#honest("web")) ||
      !(await this.#honest("plain")) ||
      !(await this.#isThere("streams")) ||
      !(await this.#isThere("frames"))
    )
      await sleep(10);
    return this;
  }

  stop(): Promise<void> {
    return this.#rig.stop();
  }

  async client(bytes: Buffer): Promise<Outcome> {
    this.#mostMs = bytes.equals(SMALLEST) ? VALID_MOST_MS : MOST_MS;
    const socket = connect(this.#rig.port, HOST);
    const answered = this.#said(socket);
    socket.write(bytes);
    const text = await answered;
    await this.#check();
    return { isTaken: text.startsWith("HTTP/1.1 2") || text.includes("honest") };
  }

  endpoint(bytes: Buffer): Promise<Outcome> {
    this.#answer = bytes;
    return this.#asked("odd.shop", bytes, ANSWERS[0]!);
  }

  frames(bytes: Buffer): Promise<Outcome> {
    this.#frames = bytes;
    return this.#asked("frames.shop", bytes, PLAIN_ANSWER);
  }

  /** Calls an endpoint over both protocols, some inputs with HEAD. */
  async #asked(host: string, bytes: Buffer, valid: Buffer): Promise<Outcome> {
    this.#mostMs = bytes.equals(valid) ? VALID_MOST_MS : MOST_MS;
    const method = bytes.equals(valid) || bytes.length % 3 > 0 ? "GET" : "HEAD";
    const socket = connect(this.#rig.port, HOST);
    const answered = this.#said(socket);
    socket.write(`${method} /a HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const [text] = await Promise.all([answered, this.#overHttp2({ ":authority": host }, {}, "end")]);
    await this.#check();
    return { isTaken: text.startsWith("HTTP/1.1 2") };
  }

  async stream(plan: StreamPlan): Promise<Outcome> {
    this.#plan = plan;
    this.#mostMs = plan.end === undefined ? VALID_MOST_MS : MOST_MS;
    const head = { ...plan.head, ":authority": "streams.shop", ":method": "POST" };
    const isTaken = await this.#overHttp2(head, plan.trailers, plan.end ?? "end");
    await this.#check();
    return { isTaken };
  }

  async #overHttp2(head: OutgoingHttpHeaders, trailers: OutgoingHttpHeaders, end: string): Promise<boolean> {
    const session = connectHttp2(`http://${HOST}:${this.#rig.port}`);
    session.on("error", () => undefined);
    const over = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => over.resolve(false), this.#mostMs);
    try {
      const stream = session.request(head, { waitForTrailers: true });
      stream.on("error", () => over.resolve(false));
      stream.once("response", (headers) => over.resolve(headers[":status"] === 200));
      stream.once("close", () => over.resolve(false));
      stream.resume();
      stream.once("wantTrailers", () => attempt(() => stream.sendTrailers(trailers)));
      stream.write("ab");
      if (end === "reset") stream.close(8);
      else if (end === "goaway") session.goaway();
      else if (end === "destroy") session.destroy();
      else if (end !== "half") stream.end();
    } catch {
      over.resolve(false);
    }
    const isTaken = await over.promise;
    clearTimeout(timer);
    session.destroy();
    return isTaken;
  }

  #streams(): ReturnType<typeof createHttp2> {
    const server = createHttp2();
    server.on("sessionError", () => undefined);
    server.on("stream", (stream) => {
      const { answer, answerTrailers, answerEnd = "end" } = this.#plan ?? NO_PLAN;
      stream.on("error", () => undefined);
      stream.resume();
      attempt(() => {
        stream.once("wantTrailers", () => attempt(() => stream.sendTrailers(answerTrailers)));
        stream.respond(answer, { waitForTrailers: true });
        stream.write("ok");
        if (answerEnd === "reset") stream.close(2);
        else if (answerEnd === "goaway") stream.session?.goaway();
        else if (answerEnd === "destroy") stream.session?.destroy();
        else if (answerEnd !== "half") stream.end();
      });
    });
    return server;
  }

  /** Returns the dispatcher's bytes until it closes the connection or both sides stall. */
  async #said(socket: Socket): Promise<string> {
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    // An error also ends it: `once` would reject.
    await Promise.race([new Promise((resolve) => socket.once("close", resolve)), sleep(this.#mostMs)]);
    socket.destroy();
    return text;
  }

  async #isThere(service: string): Promise<boolean> {
    const session = { ":authority": `${service}.shop`, ":method": "POST" };
    return this.#overHttp2(session, {}, "end");
  }

  async #check(): Promise<void> {
    for (const service of ["web", "plain"])
      if (!(await this.#honest(service)))
        throw new Violation(`an honest request to ${service} got no answer`);
  }

  async #honest(service: string): Promise<boolean> {
    const token = `t${++this.#token}`;
    const asked = request({
      host: HOST,
      port: this.#rig.port,
      headers: { host: `${service}.shop`, "x-token": token },
    });
    const response: IncomingMessage = (await once(asked.end(), "response"))[0];
    response.resume();
    const got = response.headers["x-token"];
    if (response.statusCode === 200 && got !== token)
      throw new Violation(`the request ${token} got the answer to ${String(got)}`);
    return response.statusCode === 200;
  }
}

/** Length of an HTTP/2 client's preface. */
const HTTP2_PREFACE_BYTES = 24;
const NO_PLAN: StreamPlan = { head: {}, trailers: {}, answer: {}, answerTrailers: {} };

/** Our own HTTP library refuses to send some inputs; ignore that. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Neither side is told.
  }
}
