{{/* Combinations that can't work, each with what to change. Included once, before anything else is made. */}}
{{- define "isochrone.validate" -}}
{{- $v := .Values -}}
{{- $s := $v.settings -}}
{{- $mistakes := list -}}
{{- if and (gt (int $v.aggregator.replicas) 1) (not $v.kafka.enabled) -}}
{{- $mistakes = append $mistakes (printf "aggregator.replicas must be 1 without Kafka, got %d: over OTLP/HTTP one aggregator takes everything (set kafka.enabled)" (int $v.aggregator.replicas)) -}}
{{- end -}}
{{- if and $v.kafka.enabled (not $v.kafka.brokers) -}}
{{- $mistakes = append $mistakes "kafka.brokers must name a broker when kafka.enabled is true, got none" -}}
{{- end -}}
{{- if and $v.kafka.enabled $v.kafka.sasl.mechanism -}}
{{- if not $v.kafka.sasl.passwordSecret }}{{ $mistakes = append $mistakes "kafka.sasl.passwordSecret must name a Secret when kafka.sasl.mechanism is set, got none" }}{{ end -}}
{{- range $component := ternary (list "probe" "collector" "network-manager" "aggregator") (list "probe" "collector" "aggregator") $v.networkManager.enabled -}}
{{- if not (get $v.kafka.sasl.usernames $component | default (get $v.kafka.sasl.usernames "default")) }}{{ $mistakes = append $mistakes (printf "kafka.sasl.usernames must have %s or default when kafka.sasl.mechanism is set" $component) }}{{ end -}}
{{- end -}}
{{- if and (eq $v.kafka.sasl.mechanism "plain") (not $v.kafka.tls.enabled) }}{{ $mistakes = append $mistakes "kafka.sasl.mechanism must not be plain without kafka.tls.enabled: the password would go over the wire as it is" }}{{ end -}}
{{- end -}}
{{- if and (eq $v.access.mode "kubernetes") (eq $v.tls.source "none") -}}
{{- $mistakes = append $mistakes "access.mode must not be kubernetes while tls.source is none: tokens would go over the wire as they are (set tls.source to own, secret or cert-manager)" -}}
{{- end -}}
{{- if and $s.webhook.enabled (not $s.gates.enabled) -}}
{{- $mistakes = append $mistakes "settings.gates.enabled must be true when settings.webhook.enabled is: somebody must open the gate of pods that nobody plans" -}}
{{- end -}}
{{- if and $s.planner.enabled (not $s.gates.enabled) -}}
{{- $mistakes = append $mistakes "settings.gates.enabled must be true when settings.planner.enabled is: somebody must open the gate of pods that nobody plans" -}}
{{- end -}}
{{- if and (eq $s.descheduler.mode "evict") (not $s.planner.enabled) -}}
{{- $mistakes = append $mistakes "settings.planner.enabled must be true when settings.descheduler.mode is evict: it is the planner that gives an evicted pod its node" -}}
{{- end -}}
{{- if and (has "hints" $s.dispatch.levers) (not $s.webhook.enabled) -}}
{{- $mistakes = append $mistakes "settings.webhook.enabled must be true when settings.dispatch.levers has hints: it is the webhook that sets them" -}}
{{- end -}}
{{- range list "scale" "deletion-cost" -}}
{{- if and (has . $s.dispatch.levers) (not (has "replicas" $s.dispatch.levers)) }}{{ $mistakes = append $mistakes (printf "settings.dispatch.levers must have replicas where it has %s: that works out what is to be done" .) }}{{ end -}}
{{- end -}}
{{- if not $v.schedulerPlugin.enabled -}}
{{- if or $s.webhook.enabled $s.planner.enabled (ne $s.descheduler.mode "off") $s.streams.enabled $s.dispatch.levers }}{{ $mistakes = append $mistakes "schedulerPlugin.enabled must be true for settings.webhook, settings.planner, settings.descheduler, settings.streams and settings.dispatch: they are parts of it" }}{{ end -}}
{{- end -}}
{{- if and $s.annotations.netperfConfigMap (not (regexMatch "^[^/]+/[^/]+$" $s.annotations.netperfConfigMap)) -}}
{{- $mistakes = append $mistakes (printf "settings.annotations.netperfConfigMap must be namespace/name, got %s" $s.annotations.netperfConfigMap) -}}
{{- end -}}
{{- with $s.networkTopology.latenciesFrom -}}
{{- if not (regexMatch "^[^/]+/[^/]+$" .) }}{{ $mistakes = append $mistakes (printf "settings.networkTopology.latenciesFrom must be namespace/name, got %s" .) }}{{ end -}}
{{- if eq . ($s.annotations.netperfConfigMap | default "") }}{{ $mistakes = append $mistakes (printf "settings.networkTopology.latenciesFrom must not be settings.annotations.netperfConfigMap, got %s for both" .) }}{{ end -}}
{{- end -}}
{{- if dig "limits" "cpu" "" $v.probe.resources -}}
{{- $mistakes = append $mistakes "probe.resources.limits.cpu must not be set: a probe that is throttled measures its own throttling" -}}
{{- end -}}
{{- if eq $s.scheduler.canaryNamespace .Release.Namespace -}}
{{- $mistakes = append $mistakes "settings.scheduler.canaryNamespace must not be the release's own namespace: nothing else may be in it" -}}
{{- end -}}
{{- if and $v.tls.issuerRef (ne $v.tls.source "cert-manager") -}}
{{- $mistakes = append $mistakes (printf "tls.issuerRef is for tls.source cert-manager, got %s" $v.tls.source) -}}
{{- end -}}
{{- $mistakes = concat $mistakes (include "isochrone.settingsOutOfBounds" . | fromJsonArray) -}}
{{- if $mistakes }}{{ fail (printf "%d mistake(s) in the values:\n  %s" (len $mistakes) (join "\n  " $mistakes)) }}{{ end -}}
{{- end }}

{{/* Settings whose text with a unit, such as 5s, is out of bounds, as a JSON list of sentences: numbers and
     forms are the schema's. */}}
{{- define "isochrone.settingsOutOfBounds" -}}
{{- $mistakes := list -}}
{{- $file := .Files.Get "files/settings-limits.json" | fromJson -}}
{{- range $section, $settings := .Values.settings -}}
{{- range $key, $value := $settings -}}
{{- $limits := dig "limits" $section $key dict $file -}}
{{- if and $limits (kindIs "string" $value) -}}
{{- $text := lower (trim $value) -}}
{{- $unit := regexFind "([a-z]+|%)$" $text -}}
{{- $factor := ternary 1.0 (dig "units" $limits.kind $unit 0.0 $file) (eq $unit "") -}}
{{- $number := mulf (trimSuffix $unit $text | trim | float64) $factor -}}
{{- $subject := printf "settings.%s.%s" $section $key -}}
{{- if hasKey $limits "minimum" }}{{ if lt $number (float64 $limits.minimum) }}{{ $mistakes = append $mistakes (printf "%s must be at least %s, got %s" $subject (toJson $limits.minimum) $value) }}{{ end }}{{ end -}}
{{- if hasKey $limits "maximum" }}{{ if gt $number (float64 $limits.maximum) }}{{ $mistakes = append $mistakes (printf "%s must be at most %s, got %s" $subject (toJson $limits.maximum) $value) }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ toJson $mistakes }}
{{- end }}
