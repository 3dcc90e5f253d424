import { boundPort } from "@isochrone/primitives";
import { once } from "node:events";
import { Agent, createServer, get } from "node:http";

export interface Endpoints {
  readonly ports: readonly number[];
}

export interface Asked {
  readonly port: number;
  readonly seconds: number;
  readonly perSecond: number;
}

export interface Measured {
  readonly ms: readonly number[];
  readonly failed: number;
}

const HOST = "127.0.0.1";
const ENDPOINTS = 4;
const BODY = "x".repeat(1_000);

const agent = new Agent({ keepAlive: true });
const ports: number[] = [];
for (let each = 0; each < ENDPOINTS; each++) {
  const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => response.end(BODY));
  server.listen(0, HOST);
  await once(server, "listening");
  ports.push(boundPort(server));
}
process.on("message", (asked: Asked) => {
  void measure(asked).then((measured) => process.send?.(measured));
});
process.send?.({ ports });

async function measure({ port, seconds, perSecond }: Asked): Promise<Measured> {
  const answers: Promise<number | null>[] = [];
  const began = performance.now();
  for (let at = 0; at < seconds * perSecond; at++) {
    const dueMs = began + (at * 1000) / perSecond;
    const early = dueMs - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    answers.push(timed(port));
  }
  const ms = await Promise.all(answers);
  const answered = ms.filter((each) => each !== null);
  return { ms: answered, failed: ms.length - answered.length };
}

function timed(port: number): Promise<number | null> {
  const began = performance.now();
  return new Promise((resolve) => {
    const asked = get({ agent, host: HOST, port, headers: { host: "web.shop" } }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode === 200 ? performance.now() - began : null));
    });
    asked.once("error", () => resolve(null));
  });
}
