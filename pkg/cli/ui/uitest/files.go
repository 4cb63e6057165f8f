package uitest

// BenchmarkFile, doctorFile and policyFile are files that the pages recognise.
const (
	PolicyFile    = `{"name":"fair","fairsharePolicy":{"shareDecaySeconds":60}}`
	BenchmarkFile = `{"title":"CPU and GPU","comparison":{"base":{"name":"cpu"},"other":{"name":"gpu"},"pairs":[{"title":"gemm","base":{"repeats":3,"min":1,"median":2,"max":3},
"other":{"repeats":3,"min":0.5,"median":1,"max":1.5},"speedUp":{"value":2,"interval":{"low":1.5,"high":2.5}}}],"unpaired":[{"title":"fft","reason":"not measured"}],
"warnings":["the machine was busy"]},"decision":{"words":["use the GPU","because"]},"notes":["a note"]}`
	DoctorFile = `{"kind":"ecs","system":"Amazon Linux","gpu":"absent","findings":[{"check":"driver","severity":"error","summary":"the driver is missing","remedy":"install it"}],
"notChecked":[{"what":"the clock","why":"no rights"}]}`
)
