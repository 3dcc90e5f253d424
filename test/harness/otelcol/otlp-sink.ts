import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

interface OtlpSink {
  readonly url: string;
  readonly bodies: readonly Uint8Array[];
  close(): Promise<void>;
}

export async function startOtlpSink(): Promise<OtlpSink> {
  const bodies: Uint8Array[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    bodies.push(request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body);
    response.setHeader("content-type", "application/x-protobuf");
    response.end();
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
