import { reasonOf } from "@isochrone/primitives";
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { UpstreamError } from "../ports/errors.ts";
import { passedOnTrailers } from "../domain/headers.ts";
import type { Answer, Attempt, Inbound, Outbound } from "./attempt.ts";
import { guarded } from "./guarded.ts";
import type { Http2Sessions, Place } from "./http2-sessions.ts";

export class Http2Attempt implements Attempt {
  readonly ready: Promise<void>;
  readonly #outbound: Outbound;
  #place: Place | null = null;
  #stream: ClientHttp2Stream | null = null;
  #isAborted = false;

  constructor(sessions: Http2Sessions, outbound: Outbound, isFresh: boolean) {
    this.#outbound = outbound;
    this.ready = this.#connect(sessions, isFresh);
  }

  async #connect(sessions: Http2Sessions, isFresh: boolean): Promise<void> {
    if (isFresh) sessions.closeIdle();
    const place = await sessions.acquire();
    if (this.#isAborted) place.release();
    else this.#place = place;
  }

  send(body: Inbound): Promise<Answer> {
    const { hasBody } = this.#outbound;
    return new Promise((resolve, reject) => {
      const place = this.#place;
      if (place === null || place.session.closed || place.session.destroyed) {
        this.abort();
        return reject(new UpstreamError("closed", "the connection ends", { isUntouched: true }));
      }
      const { session } = place;
      let stream: ClientHttp2Stream;
      try {
        stream = session.request(this.#headers(), { endStream: !hasBody, waitForTrailers: hasBody });
      } catch (error) {
        this.abort();
        throw error;
      }
      this.#stream = stream;
      const fail = (error: Error): void => reject(faultOf(stream, place, error));
      stream.on("error", fail);
      stream.once("close", () => {
        place.release();
        fail(new Error(`stream ended with code ${stream.rstCode ?? 0}`));
      });
      let trailers: IncomingHttpHeaders = {};
      stream.once("trailers", (headers) => (trailers = headers));
      stream.once("response", (headers, flags) => {
        resolve({
          status: Number(headers[constants.HTTP2_HEADER_STATUS] ?? 502),
          headers,
          body: stream,
          isWhole: (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0,
          trailers: () => trailers,
        });
      });
      if (!hasBody) return undefined;
      stream.once(
        "wantTrailers",
        guarded(
          () => stream.sendTrailers(passedOnTrailers(body.trailers)),
          (error) => stream.destroy(error),
        ),
      );
      body.pipe(stream);
      return undefined;
    });
  }

  abort(): void {
    this.#isAborted = true;
    if (this.#stream !== null) this.#stream.close(constants.NGHTTP2_CANCEL);
    else this.#place?.release();
    this.#place = null;
  }

  #headers(): Record<string, string | string[]> {
    const { method, path, authority, headers } = this.#outbound;
    const { host: _host, ...passed } = headers;
    return {
      ":method": method,
      ":path": path,
      ":scheme": "http",
      ":authority": authority,
      ...passed,
    };
  }
}

function faultOf(stream: ClientHttp2Stream, place: Place, error: Error): UpstreamError {
  const last = place.lastStreamId();
  const fault = (code: UpstreamError["code"], isUntouched = code === "refused_stream"): UpstreamError =>
    new UpstreamError(code, reasonOf(error), { cause: error, isUntouched });
  // RFC 9113, section 6.8: streams above the last one in GOAWAY were not processed.
  if (last !== null && (stream.id ?? 0) > last) return fault("closed", true);
  if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return fault("refused_stream");
  const isClosed = last === null && place.isReused && place.session.destroyed;
  return fault(isClosed ? "closed" : "reset");
}
