import type { EndpointChoice } from "@isochrone/dispatch/endpoints";
import type { Draw } from "@isochrone/primitives";
import { reasonOf } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime";
import type { OutgoingHttpHeaders } from "node:http";
import type { DecisionLog, Try } from "../decision-log.ts";
import { leftHeader } from "../domain/deadline-left.ts";
import { passedOn, passedOnTrailers } from "../domain/headers.ts";
import { afterTries, isRegular, mayRetry } from "../domain/retries.ts";
import type { Shares } from "../domain/shares.ts";
import type { DispatcherMetrics } from "../metrics.ts";
import { UpstreamError } from "../ports/errors.ts";
import type { ChoicePolicy } from "../policies.ts";
import type { Outcome, Policy, RefusalReason, RoundTrips } from "../ports/ports.ts";
import type { LoadProber } from "../probes/load-prober.ts";
import type { Endpoint } from "../services/endpoint.ts";
import type { ServiceTable } from "../services/service-table.ts";
import type { Answer, Attempt } from "./attempt.ts";
import { guarded } from "./guarded.ts";
import { sendRefusal, type Client, type ResponseStream } from "./client-response.ts";
import { isFailure, takeReport } from "./outcomes.ts";
import { noEndpoints, targetOf, type Refusal, type RequestHead, type Target } from "./target.ts";
import type { Upstreams } from "./upstreams.ts";

export interface ExchangeDeps {
  readonly table: ServiceTable;
  readonly trips: RoundTrips;
  readonly upstreams: Upstreams;
  readonly prober: LoadProber;
  readonly metrics: DispatcherMetrics;
  readonly log: DecisionLog;
  readonly policy: ChoicePolicy;
  /** Requests in flight by Service, so that slow endpoints of one don't block others. */
  readonly byService: Shares;
  readonly clock: Clock;
  readonly draw: Draw;
  readonly isDraining: () => boolean;
}

const FIRST_WORK_MS = 10;

export class Exchange {
  readonly #deps: ExchangeDeps;
  readonly #head: RequestHead;
  readonly #response: ResponseStream;
  readonly #client: Client;
  readonly #beganMs: number;
  readonly #timer = new AbortController();
  readonly #tries: Try[] = [];
  #target: Target | null = null;
  #chosenBy: Policy | null = null;
  #attempt: Attempt | null = null;
  #endpoint: Endpoint | null = null;
  #tookMs: number | null = null;
  #reason: RefusalReason | null = null;
  #ended: "deadline" | "abandoned" | "done" | null = null;

  constructor(deps: ExchangeDeps, head: RequestHead, client: Client) {
    this.#deps = deps;
    this.#head = head;
    this.#response = client.response;
    this.#client = client;
    this.#beganMs = deps.clock.monotonic();
  }

  /** Never rejects. Ends when the head of a response is on its way. */
  async run(): Promise<void> {
    this.#response.once("close", () => this.#closed());
    this.#client.request.on("error", () => undefined);
    this.#response.on("error", () => undefined);
    try {
      const target = targetOf(this.#head, this.#deps.table);
      if ("reason" in target) return this.#refuse(target);
      const { byService } = this.#deps;
      if (!byService.hasRoom(target.entry.name, 1)) return this.#refuse(SERVICE_IS_FULL);
      byService.take(target.entry.name, 1);
      this.#target = target;
      target.port.retries.requested();
      if (target.deadline.isMalformed) this.#deps.metrics.malformedDeadline();
      this.#watchDeadline(target);
      const answer = await this.#answer(target);
      if (answer !== null)
        guarded(
          () => this.#deliver(answer),
          (error) => this.#undeliverable(answer, error),
        )();
    } catch (error) {
      this.#attempt?.abort();
      this.#refuse({ reason: "bad_request", detail: `the request can't be passed on: ${reasonOf(error)}` });
    }
  }

  #undeliverable(answer: Answer, error: Error): void {
    answer.switched?.socket.destroy();
    answer.body.on("error", () => undefined);
    answer.body.destroy();
    if (this.#response.headersSent) return this.#breakOff();
    this.#endpoint?.load.failed(this.#deps.clock.monotonic());
    this.#refuse({ reason: "broken_off", detail: `the answer can't be passed on: ${error.message}` });
  }

  /** A client's deadline ends the request; the annotation's only affects the choice. */
  #watchDeadline({ deadline: { leftMs, source } }: Target): void {
    if (leftMs === null || source === "annotation") return;
    this.#deps.clock.sleep(leftMs, this.#timer.signal).then(
      () => this.#passed(),
      () => undefined,
    );
  }

  async #answer(target: Target): Promise<Answer | null> {
    let last: UpstreamError | null = null;
    for (let retries = 0; this.#ended === null; retries++) {
      if (this.#isPast(target)) {
        this.#passed();
        break;
      }
      const choice = this.#choose(target);
      if (choice === null) {
        this.#refuse(last === null ? noEndpoints(target.entry) : refusalOf(last));
        return null;
      }
      try {
        return await this.#tryOn(target, choice.endpoint);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        last = error;
        if (this.#ended !== null) break;
        this.#failed(error, target);
        if (!this.#mayRetry(error, retries, target)) {
          this.#refuse(refusalOf(error));
          return null;
        }
        this.#deps.metrics.retried(error.code);
      }
    }
    return null;
  }

  /** A regularly closed connection uses no retry budget: the next try gets a new connection. */
  #mayRetry({ code, isUntouched }: UpstreamError, retries: number, { port }: Target): boolean {
    const { request } = this.#client;
    request.unpipe();
    const isClosed = code === "closed";
    const hasSentBody = this.#head.hasBody && request.readableDidRead;
    const may = mayRetry({ method: this.#head.method, retries, isUntouched, isClosed, hasSentBody });
    return may && (isClosed || port.retries.take());
  }

  #isPast({ deadline: { leftMs, source } }: Target): boolean {
    if (leftMs === null || source === "annotation") return false;
    return this.#deps.clock.monotonic() - this.#beganMs >= leftMs;
  }

  #choose({ entry, port, deadline: { leftMs } }: Target): EndpointChoice<Endpoint> | null {
    const { trips, clock, draw, policy, metrics, prober } = this.#deps;
    const nowMs = clock.monotonic();
    const all = port.endpoints(trips);
    const candidates = this.#tries.length === 0 ? all : afterTries(all, this.#tries);
    const left = leftMs === null ? null : leftMs - (nowMs - this.#beganMs);
    const ask = { leftMs: left, workMs: port.work.ms ?? FIRST_WORK_MS, nowMs };
    const { choice, policy: by } = policy.choose(candidates, ask, draw);
    this.#chosenBy = by;
    metrics.decided(clock.monotonic() - nowMs);
    if (choice === null) return null;
    const { endpoint, inTime, waitMs } = choice;
    this.#tries.push({
      endpoint: endpoint.id,
      node: endpoint.where.node,
      zone: endpoint.where.zone,
      inTime,
      waitMs,
      roundTripMs: endpoint.roundTripMs,
      inFlight: endpoint.load.inFlight,
      failureShare: endpoint.load.failureShare(nowMs),
      fault: null,
    });
    if (entry.order.loadPath !== null && port.speaks === "http1") prober.ask(all, entry.order.loadPath);
    return choice;
  }

  async #tryOn(target: Target, endpoint: Endpoint): Promise<Answer> {
    const { upstreams, clock, metrics } = this.#deps;
    const { entry, port, speaksHttp2, outbound, deadline } = target;
    const others = endpoint.load.sent();
    this.#endpoint = endpoint;
    const left = (deadline.leftMs ?? 0) - (clock.monotonic() - this.#beganMs);
    const told = leftHeader(deadline.source, left);
    const headers = told === null ? outbound.headers : { ...outbound.headers, [told[0]]: told[1] };
    const isFresh = this.#tries.some(({ fault }) => fault === "closed");
    const attempt = upstreams.attempt(endpoint, { ...outbound, headers }, { speaksHttp2, isFresh });
    this.#attempt = attempt;
    const sentAtMs = clock.monotonic();
    await attempt.ready;
    if (endpoint.isGone || this.#ended !== null) {
      attempt.abort();
      throw new UpstreamError("connect", "the endpoint is gone");
    }
    metrics.sent(entry.name, endpoint.where.zone);
    const answer = await attempt.send(this.#client.request);
    const nowMs = clock.monotonic();
    this.#tookMs = nowMs - this.#beganMs;
    takeReport(answer.headers, endpoint, nowMs, metrics);
    if (isFailure(answer.status, answer.headers)) endpoint.load.failed(nowMs);
    else if (answer.switched === undefined) {
      const timeMs = Math.max(0, nowMs - sentAtMs - endpoint.roundTripMs);
      endpoint.load.answered(timeMs, others, nowMs);
      port.work.answered(timeMs, others);
    }
    return answer;
  }

  /** A failed try. Failures caused by the dispatcher or client don't count against the endpoint. */
  #failed(error: UpstreamError, { isGuessed }: Target): void {
    const isNobodys = error.code === "full" || isRegular(error.code);
    const isItsOwn = error.code === "connect" || (!isNobodys && !isGuessed);
    if (isItsOwn) this.#endpoint?.load.failed(this.#deps.clock.monotonic());
    this.#release();
    const last = this.#tries.pop();
    if (last !== undefined) this.#tries.push({ ...last, fault: error.code });
  }

  #release(): void {
    this.#endpoint?.load.ended();
    this.#endpoint = null;
    this.#attempt = null;
  }

  #deliver(answer: Answer): void {
    const { status, body } = answer;
    if (this.#ended !== null) {
      answer.switched?.socket.destroy();
      return undefined;
    }
    this.#timer.abort();
    const response = this.#response;
    const headers = passedOn(answer.headers);
    if (!this.#client.isHttp2 && this.#deps.isDraining()) headers.connection = "close";
    if (answer.switched !== undefined) return this.#switch(answer.switched, headers);
    body.on("error", () => undefined);
    body.once("close", () => {
      if (!body.readableEnded && this.#ended === null) this.#breakOff();
    });
    if (answer.isWhole) {
      response.statusCode = status;
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      body.resume();
      response.end();
      return undefined;
    }
    response.writeHead(status, headers);
    body.pipe(response, { end: false });
    body.once(
      "end",
      guarded(
        () => this.#complete(answer),
        () => this.#breakOff(),
      ),
    );
    return undefined;
  }

  #complete(answer: Answer): void {
    const trailers = passedOnTrailers(answer.trailers());
    if (Object.keys(trailers).length > 0) {
      this.#response.addTrailers(trailers);
      if (this.#endpoint !== null) {
        const nowMs = this.#deps.clock.monotonic();
        takeReport(trailers, this.#endpoint, nowMs, this.#deps.metrics);
        if (isFailure(answer.status, trailers)) this.#endpoint.load.failed(nowMs);
      }
    }
    this.#response.end();
  }

  #switch({ socket, head }: NonNullable<Answer["switched"]>, headers: OutgoingHttpHeaders): void {
    const client = this.#client.socket!;
    this.#response.writeHead(101, { ...headers, connection: "Upgrade", upgrade: "websocket" });
    this.#response.flushHeaders?.();
    if (head.length > 0) client.write(head);
    socket.on("error", () => undefined);
    socket.once("close", () => client.destroySoon());
    client.once("close", () => socket.destroySoon());
    client.pipe(socket);
    socket.pipe(client);
  }

  /** A truncated body must not look complete. */
  #breakOff(): void {
    this.#endpoint?.load.failed(this.#deps.clock.monotonic());
    this.#reason = "broken_off";
    this.#response.destroy(this.#client.isHttp2 ? new Error("the endpoint broke off") : undefined);
  }

  #refuse(refusal: Refusal): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    this.#reason = refusal.reason;
    this.#timer.abort();
    // A response that couldn't be forwarded may have left some.
    for (const name of this.#response.getHeaderNames()) this.#response.removeHeader(name);
    this.#deps.metrics.refused(refusal.reason);
    // The rest of the body would have to be read before the next request.
    const endsConnection = !this.#client.isHttp2 && (this.#head.hasBody || this.#deps.isDraining());
    guarded(
      () => sendRefusal(this.#response, refusal, { headers: this.#head.headers, endsConnection }),
      (error) => this.#response.destroy(error),
    )();
  }

  /** The attempt's end wakes those waiting for a response. */
  #passed(): void {
    if (this.#ended !== null || this.#response.headersSent) return;
    this.#ended = "deadline";
    this.#unanswered();
    this.#attempt?.abort();
    // An attempt aborted before connecting may end silently.
    this.#refuse(PAST_DEADLINE);
  }

  /** A hanging endpoint is at least as slow as the time waited, which a client may have cut short. */
  #unanswered(): void {
    const waitedMs = this.#deps.clock.monotonic() - this.#beganMs;
    if (this.#endpoint === null || this.#tookMs !== null) return;
    if (waitedMs > (this.#target?.port.work.ms ?? 0))
      this.#endpoint.load.answered(waitedMs, this.#endpoint.load.inFlight - 1, this.#deps.clock.monotonic());
  }

  #closed(): void {
    const { clock, metrics, log } = this.#deps;
    const isWhole = this.#client.wasSent();
    if (!isWhole) {
      if (this.#ended === null) this.#unanswered();
      this.#ended ??= "abandoned";
      this.#attempt?.abort();
    } else if (this.#head.hasBody && !this.#client.request.readableEnded) {
      // The endpoint responded before the body's end; don't send the rest.
      this.#attempt?.abort();
    }
    this.#ended ??= "done";
    this.#timer.abort();
    this.#release();
    const outcome = this.#outcome(isWhole);
    const target = this.#target;
    if (target === null) return;
    this.#deps.byService.give(target.entry.name, 1);
    metrics.ended(target.entry.name, outcome);
    if (!log.takes()) return;
    const { entry, deadline, port } = target;
    log.add({
      service: entry.name,
      policy: this.#chosenBy,
      leftMs: deadline.leftMs,
      deadlineFrom: deadline.source,
      workMs: port.work.ms,
      endpoints: port.endpoints(this.#deps.trips).length,
      tries: this.#tries,
      outcome,
      reason: this.#reason,
      status: this.#response.headersSent ? this.#response.statusCode : null,
      tookMs: this.#tookMs ?? clock.monotonic() - this.#beganMs,
    });
  }

  #outcome(isWhole: boolean): Outcome {
    if (this.#reason === "broken_off") return "failed";
    if (this.#reason !== null) return "refused";
    if (!isWhole) return "abandoned";
    if (this.#response.statusCode >= 500) return "failed";
    const leftMs = this.#target?.deadline.leftMs ?? null;
    if (leftMs === null || this.#tookMs === null) return "answered";
    return this.#tookMs <= leftMs ? "in_time" : "late";
  }
}

const SERVICE_IS_FULL: Refusal = {
  reason: "overloaded",
  detail: "too many requests of this Service are under way",
};
const PAST_DEADLINE: Refusal = { reason: "deadline", detail: "the deadline has passed" };

function refusalOf({ isUntouched, message }: UpstreamError): Refusal {
  return isUntouched
    ? { reason: "unreachable", detail: `no endpoint could be reached: ${message}` }
    : { reason: "broken_off", detail: `the endpoint broke off: ${message}` };
}
