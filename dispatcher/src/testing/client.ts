import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import {
  connect,
  constants,
  type IncomingHttpHeaders as Http2Incoming,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders as Http2Headers,
} from "node:http2";
import type { Readable } from "node:stream";

type Http2Answer = Http2Incoming & IncomingHttpStatusHeader;

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Readable;
}

/** Rejects if the response is truncated. */
export function ask(port: number, asked: Asked = {}): Promise<Received> {
  const { method = "GET", path = "/", host = "web.shop", headers = {}, body } = asked;
  return new Promise((resolve, reject) => {
    const sent = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: { ...headers, host },
      agent: false,
    });
    sent.on("error", reject);
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.once("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          trailers: response.trailers,
          body: text,
        }),
      );
    });
    if (body === undefined || typeof body === "string") sent.end(body);
    else body.pipe(sent);
  });
}

export function ask2(port: number, asked: Asked = {}): Promise<Received> {
  const { method = "GET", path = "/", host = "web.shop", headers = {}, body } = asked;
  const session = connect(`http://127.0.0.1:${port}`);
  const head: Http2Headers = { ...headers, ":method": method, ":path": path, ":authority": host };
  return new Promise<Received>((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request(head, { endStream: body === undefined });
    let text = "";
    let answered: Http2Answer = {};
    let trailers: IncomingHttpHeaders = {};
    stream.setEncoding("utf8");
    stream.on("error", reject);
    stream.once("response", (received) => (answered = received));
    stream.once("trailers", (received) => (trailers = received));
    stream.on("data", (chunk: string) => (text += chunk));
    stream.once("end", () =>
      resolve({
        status: Number(answered[constants.HTTP2_HEADER_STATUS] ?? 0),
        headers: answered,
        trailers,
        body: text,
      }),
    );
    if (typeof body === "string") stream.end(body);
    else body?.pipe(stream);
  }).finally(() => session.close());
}
