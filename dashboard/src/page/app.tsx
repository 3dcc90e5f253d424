import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { BillPage } from "./bill/bill.tsx";
import { DecisionsPage } from "./decisions/decisions.tsx";
import { HealthPage } from "./health/health.tsx";
import type { Place } from "./model/route.ts";
import { NetworkPage } from "./network/network.tsx";
import { PairPage } from "./network/pair/pair.tsx";
import { OverviewPage } from "./overview/overview.tsx";
import { Loading, WaitReason } from "./parts/common.tsx";
import { hasEmulator, tokenMistake } from "./state/emulator.ts";
import { hasToken, signIn, signOut } from "./state/session.ts";
import { SignIn } from "./shell/sign-in.tsx";
import { Status } from "./shell/status.tsx";
import { ThemeSwitch } from "./shell/theme-switch.tsx";
import { TimeBar } from "./shell/time-bar.tsx";
import { cluster, failure, linkTo, refresh, route } from "./state/store.ts";
import { StreamsPage } from "./streams/streams.tsx";
import { TrafficPage } from "./traffic/traffic.tsx";
import { WorkflowsPage } from "./workflows/workflows.tsx";

const PAGES: readonly {
  readonly name: string;
  readonly pages: readonly Place["page"][];
  readonly place: Place;
}[] = [
  { name: "Overview", pages: ["overview"], place: { page: "overview" } },
  { name: "Network", pages: ["network", "pair"], place: { page: "network", view: "matrix" } },
  { name: "Workflows", pages: ["workflows"], place: { page: "workflows", workflow: null } },
  { name: "Traffic", pages: ["traffic"], place: { page: "traffic", service: null } },
  { name: "Bill", pages: ["bill"], place: { page: "bill" } },
  { name: "Streams", pages: ["streams"], place: { page: "streams", job: null } },
  { name: "Decisions", pages: ["decisions"], place: { page: "decisions", kind: "decision", id: null } },
  { name: "Health", pages: ["health"], place: { page: "health" } },
];

export function App(): VNode {
  const { place } = route.value;
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const address = JSON.stringify(place);
  useEffect(() => {
    const name = PAGES.find(({ pages }) => pages.includes(place.page))?.name ?? "";
    document.title = `${name} – Isochrone`;
    // Moves the focus after navigation by keyboard or screen reader, but not on arrival.
    if (isFirst.current) isFirst.current = false;
    else {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  }, [address]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The page uses the fragment for its own address.
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={linkTo({ page: "overview" })}>
          <Mark />
          Isochrone
        </a>
        <nav aria-label="Pages">
          {PAGES.map(({ name, pages, place: to }) => (
            <a key={name} href={linkTo(to)} aria-current={pages.includes(place.page) ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div class="tools">
          <ThemeSwitch />
          <button
            id="sign-out"
            type="button"
            hidden={!hasToken.value || signIn.value.isWanted}
            onClick={signOut}
          >
            Sign out
          </button>
        </div>
      </header>
      <Status />
      <TimeBar />
      {tokenMistake.value === "" || (place.page === "pair" && hasEmulator) ? null : (
        <div role="alert" id="token-mistake">
          <p>{tokenMistake.value}</p>
          <button type="button" onClick={() => (tokenMistake.value = "")}>
            Close
          </button>
        </div>
      )}
      <main id="main" ref={main} tabIndex={-1}>
        {signIn.value.isWanted ? <SignIn onToken={() => refresh(true)} /> : null}
        <Content place={place} />
      </main>
    </>
  );
}

function Content({ place }: { readonly place: Place }): VNode | null {
  if (cluster.value === null) return <Waiting />;
  switch (place.page) {
    case "overview":
      return <OverviewPage />;
    case "network":
      return <NetworkPage view={place.view} from={place.from ?? null} />;
    case "pair":
      return (
        <PairPage key={`${place.source}\n${place.target}`} source={place.source} target={place.target} />
      );
    case "workflows":
      return <WorkflowsPage chosen={place.workflow} />;
    case "streams":
      return <StreamsPage job={place.job} />;
    case "traffic":
      return <TrafficPage service={place.service} />;
    case "bill":
      return <BillPage />;
    case "decisions":
      return <DecisionsPage {...place} />;
    default:
      return <HealthPage />;
  }
}

function Waiting(): VNode | null {
  if (failure.value === null) return <Loading lines={8} />;
  if (failure.value.isSignedOut) return null;
  return (
    <div class="empty trouble" id="notice">
      <p class="empty-title">There is nothing to show yet</p>
      <p>{failure.value.text[0]!.toUpperCase() + failure.value.text.slice(1)}.</p>
      <WaitReason />
      <p class="soft">The page keeps trying and goes on by itself.</p>
    </div>
  );
}

function Mark(): VNode {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <g fill="none" stroke="currentColor" stroke-width="1.8">
        <circle cx="12" cy="12" r="10" opacity="0.35" />
        <circle cx="12" cy="12" r="6" opacity="0.65" />
      </g>
      <circle cx="12" cy="12" r="2.6" fill="currentColor" />
    </svg>
  );
}
