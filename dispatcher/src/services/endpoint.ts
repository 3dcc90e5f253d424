import { EndpointLoad, WorkTime, type Candidate } from "@isochrone/dispatch/endpoints";
import { RetryBudget } from "../domain/retries.ts";
import type { Address } from "../domain/slices.ts";
import type { RoundTrips, Speech } from "../ports/ports.ts";

export class Endpoint implements Candidate {
  readonly load = new EndpointLoad();
  readonly where: Address;
  readonly id: string;
  roundTripMs = 0;
  isFar = false;
  /** Removed from its slice: must get no requests. */
  isGone = false;
  isProbed = false;

  constructor(where: Address) {
    this.where = where;
    this.id = where.address.includes(":")
      ? `[${where.address}]:${where.port}`
      : `${where.address}:${where.port}`;
  }
}

export class ServicePort {
  readonly work = new WorkTime();
  /** Per port, so that other Services' dead endpoints don't use it up. */
  readonly retries = new RetryBudget();
  readonly speaks: Speech;
  #endpoints: readonly Endpoint[] = [];
  #tripsVersion = -1;

  constructor(speaks: Speech) {
    this.speaks = speaks;
  }

  /** Updates round trips first. */
  endpoints(trips: RoundTrips): readonly Endpoint[] {
    if (this.#tripsVersion !== trips.version) this.#takeTrips(trips);
    return this.#endpoints;
  }

  take(addresses: readonly Address[]): readonly Endpoint[] {
    const before = new Map(this.#endpoints.map((endpoint) => [endpoint.id, endpoint]));
    this.#endpoints = addresses.map((where) => {
      const fresh = new Endpoint(where);
      const known = before.get(fresh.id);
      if (known === undefined || known.where.uid !== where.uid) return fresh;
      before.delete(fresh.id);
      return known;
    });
    this.#tripsVersion = -1;
    const gone = [...before.values()];
    for (const endpoint of gone) endpoint.isGone = true;
    return gone;
  }

  /** Assumes the median for unknown round trips. */
  #takeTrips(trips: RoundTrips): void {
    this.#tripsVersion = trips.version;
    const toEach = this.#endpoints.map(({ where }) =>
      where.node === null ? Number.NaN : trips.toNode(where.node),
    );
    const known = toEach.filter((ms) => !Number.isNaN(ms)).sort((a, b) => a - b);
    const neutral = known[Math.floor(known.length / 2)] ?? 0;
    for (const [at, endpoint] of this.#endpoints.entries()) {
      const ms = toEach[at]!;
      endpoint.roundTripMs = Number.isNaN(ms) ? neutral : Math.min(ms, UNREACHABLE_MS);
      const { zone } = endpoint.where;
      endpoint.isFar = trips.ownZone !== null && zone !== null && zone !== trips.ownZone;
    }
  }
}

/** The last choice but still one: the measurement may be outdated. */
const UNREACHABLE_MS = 60_000;
