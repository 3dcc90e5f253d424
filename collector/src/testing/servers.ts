import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Certificate } from "./certificates.ts";

export interface TestServer {
  readonly url: string;
  readonly port: number;
  connections(): number;
  close(): Promise<void>;
}

export async function serve(listener: RequestListener, certificate?: Certificate): Promise<TestServer> {
  const server: Server =
    certificate === undefined
      ? createServer(listener)
      : createTlsServer({ key: certificate.key, cert: certificate.cert }, listener);
  let connections = 0;
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${certificate === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export const page =
  (text: string, contentType = "text/plain; version=0.0.4"): RequestListener =>
  (_, response) => {
    response.setHeader("content-type", contentType);
    response.end(text);
  };

/** Checks tokens like a kubelet: 401 for unknown ones, 403 without the right. */
export const kubelet =
  (accepted: () => string, text = "", mayReadMetrics = (): boolean => true): RequestListener =>
  (request, response) => {
    if (request.headers.authorization !== `Bearer ${accepted()}`)
      return void response.writeHead(401, { "content-type": "text/plain" }).end("Unauthorized");
    if (!mayReadMetrics())
      return void response
        .writeHead(403, { "content-type": "text/plain" })
        .end(
          "Forbidden (user=system:serviceaccount:isochrone:collector, verb=get, resource=nodes, subresource=metrics)",
        );
    return page(text)(request, response);
  };
