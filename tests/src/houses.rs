//! The floors of every package: which rooms there are and which of them a room may use. `tidy`
//! checks them, the picture in ARCHITECTURE.md draws them.

/// A package and its floors, lowest first; a room uses only those of earlier floors.
pub struct House {
    /// Folder of its sources, as in `core/src/`.
    pub sources: &'static str,
    /// Its rooms by floors.
    pub floors: &'static [&'static [&'static str]],
}

/// All of them, the lowest package first.
pub const HOUSES: &[House] = &[
    House {
        sources: "core/src/",
        floors: &[
            &["math"],
            &["dispatch"],
            &["parameter"],
            &["digest"],
            &["wire"],
            &["snapshot"],
            &["linalg"],
            &["random"],
            &["kernel"],
            &["features"],
            &["domain"],
            &["space"],
            &["surrogate"],
            &["acquisition"],
            &["schedule"],
            &["optimizer"],
            &["prior"],
            &["privacy"],
            &["federated", "outsourced", "local", "output"],
        ],
    },
    House {
        sources: "host/src/",
        floors: &[
            &["words", "watch"],
            &["entropy", "program", "width", "text", "day", "hex"],
            &["files"],
            &["signature", "space"],
            &["ledger"],
            &["server"],
            &["shares", "prior"],
            &["search"],
            &["campaign"],
            &["tune"],
        ],
    },
    House {
        sources: "sim/experiment/src/",
        floors: &[
            &["text", "pool", "student", "benchmark"],
            &["files", "scenario"],
            &["world", "progress", "journal"],
            &["record"],
            &["metrics"],
            &["command_line"],
        ],
    },
    House {
        sources: "sim/report/src/",
        floors: &[
            &[
                "advance", "chart", "events", "folder", "names", "paired", "table",
            ],
            &["grid", "palette", "read", "readme", "rows"],
            &[
                "columns",
                "curves",
                "differences",
                "differing",
                "layout",
                "observations",
            ],
            &["json", "svg"],
            &["figure", "html"],
            &["parts", "sheet"],
            &["charts", "results"],
            &["page", "tables", "utility"],
            &["view"],
            &["federation"],
        ],
    },
    House {
        sources: "sim/engine/src/",
        floors: &[
            &["hub", "part"],
            &["contract"],
            &["jobs"],
            &["federated", "outsourced", "local", "output"],
        ],
    },
    House {
        sources: "sim/lab/src/",
        floors: &[
            &["compare", "execute", "newcomers", "privacy"],
            &["sweep"],
            &["work"],
            &["parts"],
            &["driver"],
            &["command"],
        ],
    },
    House {
        sources: "sim/papers/src/",
        floors: &[&["audit", "reproduce"]],
    },
    House {
        sources: "sim/src/",
        floors: &[&["cli"]],
    },
    House {
        sources: "net/src/",
        floors: &[
            &["identity", "shares", "tunnel", "beside"],
            &["keys", "authority", "stored"],
            &["invitation", "terms"],
            &["party", "cost", "provision"],
            &["admission", "enrolment", "data"],
            &["rounds"],
            &["folder"],
            &["door"],
            &["progress"],
            &["status", "asked"],
            &["admin"],
            &["link", "journal"],
            &["help"],
            &["serve"],
            &["agent"],
            &["join"],
            &["chaos", "bridge"],
            &["rehearsal"],
            &["cli"],
        ],
    },
    House {
        sources: "capi/src/",
        floors: &[
            &["status", "version"],
            &["memory"],
            &["settings", "callback"],
            &["agreement", "journal"],
            &["gp", "optimizer", "reporter"],
            &["prior"],
            &["newcomer"],
            &["agent", "frame"],
            &["member"],
            &["site"],
        ],
    },
    House {
        sources: "cluster/src/",
        floors: &[
            &["message"],
            &["plan", "keeper"],
            &["link"],
            &["head", "worker"],
            &["cli"],
        ],
    },
];

impl House {
    /// The floor of a room, 0 the lowest; nothing if it is not in the list.
    pub fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|floor| floor.contains(&room))
    }
}
