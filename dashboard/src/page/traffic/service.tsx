import type { ServiceTraffic, ZoneTraffic } from "@isochrone/topology";
import { inTimeOf, spillOf } from "@isochrone/topology/shares";
import type { VNode } from "preact";
import { figure, milliseconds, percent, UNKNOWN } from "../model/format.ts";
import { Card, Empty, Name, Tile } from "../parts/common.tsx";
import { linkTo } from "../state/store.ts";
import {
  callersOf,
  cellOf,
  headroomOf,
  requestsOf,
  serversOf,
  troubleOf,
  type ServingZone,
} from "./traffic-model.ts";

export function Lever({ service: { lever, state } }: { readonly service: ServiceTraffic }): VNode | string {
  if (lever === null) return "nothing";
  const kind = state === "refused" ? "bad" : state === "stale" ? "warn" : state === "steady" ? "good" : "";
  return (
    <>
      {lever === "none" ? "" : `${lever} `}
      {state === null ? null : <span class={`badge ${kind}`}>{state}</span>}
    </>
  );
}

export function ServiceView(props: {
  readonly service: ServiceTraffic | null;
  readonly name: string;
}): VNode {
  const { service, name } = props;
  return (
    <>
      <div class="page-head">
        <p class="crumbs">
          <a href={linkTo({ page: "traffic", service: null })}>Traffic</a>
        </p>
        <h1>
          <Name>{name}</Name>
        </h1>
      </div>
      {service === null ? (
        <Empty title="Nothing is known of such a Service">
          Nobody calls it and it doesn't ask to be spread, or didn't at this moment.
        </Empty>
      ) : (
        <Details service={service} />
      )}
    </>
  );
}

function Details({ service }: { readonly service: ServiceTraffic }): VNode {
  const { zones, deadlineMs, capacityPerSecond } = service;
  const trouble = troubleOf(service);
  const advised = spillOf(zones, "advised");
  return (
    <>
      <dl class="tiles">
        <Tile
          label="Spread by"
          value={service.lever === null || service.lever === "none" ? "nothing" : service.lever}
          note={
            trouble?.words ??
            service.state ??
            (service.lever === null ? "isochrone.dev/dispatch isn't set" : "each request by itself")
          }
          {...(trouble === null ? {} : { state: trouble.state })}
        />
        <Tile label="Requests per second" value={figure(requestsOf(service))} note="of all calling zones" />
        <Tile
          label="In time"
          value={percent(inTimeOf(zones))}
          note={deadlineMs === null ? "no deadline is set" : `within ${milliseconds(deadlineMs)}`}
        />
        <Tile
          label="Leaves its zone"
          value={percent(spillOf(zones, "now"))}
          note={advised === null ? "of its requests" : `of its requests; ${percent(advised)} advised`}
        />
        <Tile
          label="Headroom"
          value={figure(headroomOf(service))}
          note={
            capacityPerSecond === null
              ? "requests/s; no capacity is known"
              : `requests/s, at ${figure(capacityPerSecond)} for each endpoint`
          }
        />
      </dl>
      <Card title="Calling zones and serving zones" id="matrix">
        <Matrix service={service} />
      </Card>
    </>
  );
}

function Matrix({ service }: { readonly service: ServiceTraffic }): VNode {
  const callers = callersOf(service);
  const servers = serversOf(service);
  if (callers.length === 0 && servers.length === 0)
    return <Empty title="Nobody calls it, and it has no endpoints" />;
  return (
    <>
      <p class="soft">
        Rows: calling zone. Columns: serving zone. Each cell is the share of the row's requests; the arrow
        leads to the share that is advised.
      </p>
      <div class="scroll" id="zones" tabIndex={0} role="region" aria-label="table of zones by zones">
        <table class="zones">
          <thead>
            <tr>
              <th scope="col" class="text">
                Calling zone
              </th>
              {servers.map(({ zone }) => (
                <th key={zone} scope="col">
                  <Name>{`→ ${zone}`}</Name>
                </th>
              ))}
              <th scope="col">Requests/s</th>
              <th scope="col">In time</th>
              <th scope="col">Median</th>
            </tr>
          </thead>
          <tbody>
            {callers.map((caller) => (
              <Caller key={caller.zone ?? ""} caller={caller} servers={servers} />
            ))}
          </tbody>
          {servers.length === 0 ? null : <Servers servers={servers} />}
        </table>
      </div>
    </>
  );
}

function Caller(props: { readonly caller: ZoneTraffic; readonly servers: readonly ServingZone[] }): VNode {
  const { caller, servers } = props;
  return (
    <tr>
      <th scope="row" class="text">
        {caller.zone === null ? "without a zone" : <Name>{caller.zone}</Name>}
      </th>
      {servers.map(({ zone }) => (
        <Share key={zone} caller={caller} to={zone} />
      ))}
      <td>{figure(caller.requestsPerSecond)}</td>
      <td>{percent(caller.inTimeRatio)}</td>
      <td>{milliseconds(caller.p50Ms)}</td>
    </tr>
  );
}

function Share({ caller, to }: { readonly caller: ZoneTraffic; readonly to: string }): VNode {
  const cell = cellOf(caller, to);
  if (cell === null) return <td>{UNKNOWN}</td>;
  const { now, advised, isOwn } = cell;
  return (
    <td class={`share ${isOwn ? "own" : ""}`}>
      <i class="share-now" style={{ width: `${Math.min(100, 100 * now)}%` }} />
      <span>
        {now === 0 && advised === null ? UNKNOWN : percent(now)}
        {advised === null ? null : <small> → {percent(advised)}</small>}
      </span>
    </td>
  );
}

const KINDS: readonly {
  readonly title: string;
  readonly of: (zone: ServingZone) => number | null;
  readonly text: (value: number | null) => string;
}[] = [
  { title: "Endpoints", of: ({ endpoints }) => endpoints, text: figure },
  { title: "Proposed endpoints", of: ({ proposedEndpoints }) => proposedEndpoints ?? null, text: figure },
  { title: "Load now", of: ({ loadRatio }) => loadRatio, text: percent },
  { title: "Load as advised", of: ({ advisedLoadRatio }) => advisedLoadRatio, text: percent },
];

function Servers({ servers }: { readonly servers: readonly ServingZone[] }): VNode {
  return (
    <tfoot>
      {KINDS.filter(({ of }) => servers.some((zone) => of(zone) !== null)).map(({ title, of, text }) => (
        <tr key={title}>
          <th scope="row" class="text">
            {title}
          </th>
          {servers.map((zone) => {
            const value = of(zone);
            const isFull = title.startsWith("Load") && value !== null && value > 1.000_001;
            return (
              <td key={zone.zone} class={isFull ? "full" : ""}>
                {text(value)}
              </td>
            );
          })}
          <td colSpan={3} />
        </tr>
      ))}
    </tfoot>
  );
}
