import type { ServiceTraffic, TrafficSnapshot } from "@isochrone/topology";
import { inTimeOf, spillOf } from "@isochrone/topology/shares";
import type { VNode } from "preact";
import { useJson } from "../parts/ask.ts";
import { Card, Empty, Lead, Loading, Name, Table, Tile, Trouble } from "../parts/common.tsx";
import { offLine, offState } from "../model/off.ts";
import { count, figure, percent, plural } from "../model/format.ts";
import { linkTo, moment } from "../state/store.ts";
import { Lever, ServiceView } from "./service.tsx";
import { headroomOf, inOrder, requestsOf, totals, trafficName, troubleOf } from "./traffic-model.ts";

export function TrafficPage(props: {
  readonly service: { readonly namespace: string; readonly name: string } | null;
}): VNode {
  const { data, failure, status } = useJson<TrafficSnapshot>("api/v1/traffic");
  const { service } = props;
  if (data !== null && service !== null)
    return (
      <ServiceView
        service={data.services.find((each) => trafficName(each) === trafficName(service)) ?? null}
        name={trafficName(service)}
      />
    );
  return (
    <>
      <div class="page-head">
        <h1>Traffic</h1>
      </div>
      <Lead>
        How the requests of each Service are spread over zones: what zones ask, which part of it leaves its
        zone, how many requests are answered in time, and where there is room.
      </Lead>
      {data !== null ? (
        <Snapshot {...data} />
      ) : failure === null ? (
        <Card title="Services" id="services">
          <Loading lines={6} />
        </Card>
      ) : (
        <Card title="Services" id="services">
          {status === 404 ? (
            <Empty title="No traffic is stored for this moment">It is kept for an hour.</Empty>
          ) : (
            <Trouble title="Traffic can't be shown">{failure.text.replace(/^no graphs: /, "")}.</Trouble>
          )}
        </Card>
      )}
    </>
  );
}

function Snapshot({ services, dispatch }: TrafficSnapshot): VNode {
  if (services.length === 0)
    return (
      <Card title="Services" id="services">
        <Empty title={moment.value === "" ? "No requests are counted" : "No requests were counted"}>
          Sidecars of callers count them: with them, each Service that is called appears here.{" "}
          {offLine("traffic")}
        </Empty>
      </Card>
    );
  return (
    <>
      <Tiles services={services} />
      <Card title="Services" id="services">
        {dispatch.isOn ? null : (
          <p class="soft">
            {offState("levers")}: {dispatch.message ?? "nothing is known of why"}. What zones ask is shown all
            the same. {offLine("levers")}
          </p>
        )}
        <Services services={services} />
      </Card>
    </>
  );
}

function Tiles({ services }: Pick<TrafficSnapshot, "services">): VNode {
  const { requestsPerSecond, inTimeRatio, spread, troubled } = totals({ services });
  return (
    <dl class="tiles">
      <Tile label="Services" value={count(services.length)} note={`${count(spread)} ask to be spread`} />
      <Tile label="Requests per second" value={figure(requestsPerSecond)} note="of all calling zones" />
      <Tile
        label="In time"
        value={inTimeRatio === null ? "unknown" : percent(inTimeRatio)}
        note={inTimeRatio === null ? "no Service has a deadline" : "of Services with a deadline"}
      />
      <Tile
        label="Without room, or refused"
        value={troubled === 0 ? "none" : plural(troubled, "Service")}
        {...(troubled > 0 ? { state: "warn" as const } : {})}
      />
    </dl>
  );
}

function Services({ services }: Pick<TrafficSnapshot, "services">): VNode {
  return (
    <Table
      id="traffic"
      label="Services, those with trouble first"
      columns={[
        { title: "Service", isText: true },
        { title: "Spread by", isText: true },
        { title: "Requests/s" },
        { title: "In time" },
        { title: "Leaves its zone" },
        { title: "Advised" },
        { title: "Headroom/s" },
        { title: "Remark", isText: true },
      ]}
      rows={inOrder(services).map((service) => ({
        key: trafficName(service),
        cells: cellsOf(service),
      }))}
    />
  );
}

function cellsOf(service: ServiceTraffic): readonly (VNode | string)[] {
  const { namespace, name, zones } = service;
  const trouble = troubleOf(service);
  return [
    <a href={linkTo({ page: "traffic", service: { namespace, name } })}>
      <Name>{trafficName(service)}</Name>
    </a>,
    <Lever service={service} />,
    figure(requestsOf(service)),
    percent(inTimeOf(zones)),
    percent(spillOf(zones, "now")),
    percent(spillOf(zones, "advised")),
    figure(headroomOf(service)),
    trouble === null ? "" : <span class={`badge ${trouble.state}`}>{trouble.words}</span>,
  ];
}
