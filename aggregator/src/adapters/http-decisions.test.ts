import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ManualClock } from "@isochrone/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";
import { HttpDecisions } from "./http-decisions.ts";

const servers: Server[] = [];
const clock = new ManualClock();

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<HttpDecisions> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return new HttpDecisions({ baseUrl: `http://127.0.0.1:${port}/`, timeoutMs: 5000, clock });
}

const ask = (decisions: HttpDecisions, path = "/api/v1/decisions?limit=1") =>
  decisions.fetch(path, new AbortController().signal);

describe("HttpDecisions", () => {
  test("passes path, query, status and body on as they are", async () => {
    const decisions = await serve((request, response) =>
      response
        .writeHead(404, { "content-type": "application/problem+json" })
        .end(JSON.stringify({ url: request.url })),
    );
    const answer = await ask(decisions);
    expect(answer).toMatchObject({ status: 404, contentType: "application/problem+json" });
    expect(JSON.parse(answer.body.toString())).toEqual({ url: "/api/v1/decisions?limit=1" });
  });

  test("says that nobody is there", async () => {
    const decisions = new HttpDecisions({ baseUrl: "http://127.0.0.1:1", timeoutMs: 5000, clock });
    await expect(ask(decisions)).rejects.toMatchObject({ code: "decisions_unreachable", status: 502 });
  });

  test("gives up on one that never answers", async () => {
    const reached = Promise.withResolvers<void>();
    const decisions = await serve(() => reached.resolve());
    const failure = ask(decisions).catch((error: unknown) => error);
    await reached.promise;
    await clock.advance(5000);
    expect(await failure).toMatchObject({
      code: "decisions_unreachable",
      message: expect.stringContaining("5000 ms") as string,
    });
  });

  test("takes no page of HTML for decisions", async () => {
    const decisions = await serve((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    );
    await expect(ask(decisions)).rejects.toMatchObject({ code: "decisions_bad_answer" });
  });

  test("stops reading an answer without end", async () => {
    const decisions = await serve((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const pour = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, 32)));
      };
      response.on("drain", pour);
      pour();
    });
    await expect(ask(decisions)).rejects.toMatchObject({ code: "decisions_bad_answer" });
  });

  test("follows no redirect to elsewhere", async () => {
    const decisions = await serve((_, response) =>
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    );
    await expect(ask(decisions)).rejects.toMatchObject({ code: "decisions_unreachable" });
  });
});
