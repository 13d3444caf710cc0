//! Slots, tokens, keys and lists: who comes in, who does not, and what a disk that fails changes.

use super::*;

fn key(n: u8) -> Fingerprint {
    hex(&[n; 32]).parse().unwrap()
}

/// One invitation.
fn invite(folder: &Path, slot: u32, token: Option<&Token>, offer: Offer) -> Result<(), FileError> {
    super::invite(folder, &[(slot, token.copied())], offer)
}

/// One broken line among the invitations, and no revocation was read any more; an edit that kept a
/// file's length was not seen.
#[test]
fn a_revocation_holds_whatever_is_broken() {
    let folder =
        std::env::temp_dir().join(format!("sordino-net-revocation-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let enrolment = Enrolment::open(&folder).unwrap();
    for slot in 0..4 {
        invite(&folder, slot, Some(&[slot as u8; 16]), Offer::default()).unwrap();
        enrolment
            .enrol(slot, &[slot as u8; 16], key(slot as u8))
            .unwrap();
    }
    let invitations = folder.join(INVITATIONS);
    let revoked = folder.join(REVOKED);
    let whole = std::fs::read_to_string(&invitations).unwrap();
    std::fs::write(&invitations, format!("{whole}no line\n")).unwrap();
    revoke(&folder, 1).unwrap();
    assert!(matches!(
        enrolment.refresh(),
        Err(EnrolmentError::Line { line: 5, .. })
    ));
    assert_eq!(enrolment.slot(&key(1)), None);
    assert_eq!(
        enrolment.enrol(2, &[2; 16], key(2)),
        Err(Refusal::Unavailable),
        "nobody comes in meanwhile"
    );
    let told = enrolment.trouble().concat();
    assert!(told.contains(INVITATIONS) && told.contains('5'), "{told}");
    assert!(enrolment.trouble().is_empty(), "told once");
    std::fs::write(&invitations, &whole).unwrap();
    enrolment.refresh().unwrap();
    // A broken line among the revocations themselves costs that line, and is told.
    let kept = std::fs::read_to_string(&revoked).unwrap();
    std::fs::write(&revoked, format!("no line\n{kept}")).unwrap();
    revoke(&folder, 2).unwrap();
    assert!(matches!(
        enrolment.refresh(),
        Err(EnrolmentError::Line { line: 1, .. })
    ));
    assert_eq!(
        (enrolment.slot(&key(1)), enrolment.slot(&key(2))),
        (None, None)
    );
    // Of equal length, as another file in its place.
    std::fs::write(&revoked, "{\"slot\":1}\n").unwrap();
    enrolment.refresh().unwrap();
    std::fs::write(folder.join("beside"), "{\"slot\":3}\n").unwrap();
    std::fs::rename(folder.join("beside"), &revoked).unwrap();
    enrolment.refresh().unwrap();
    assert_eq!(
        (enrolment.slot(&key(3)), enrolment.slot(&key(1))),
        (None, Some(1))
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A site that could not be written down was sent away for ever, and nobody was told why.
#[test]
fn who_cannot_be_written_down_is_told_once() {
    let folder = std::env::temp_dir().join(format!("sordino-net-unwritten-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let enrolment = Enrolment::open(&folder).unwrap();
    invite(&folder, 0, Some(&[0; 16]), Offer::default()).unwrap();
    let list = folder.join(ENROLLED);
    drop(std::fs::remove_file(&list));
    std::fs::create_dir(&list).unwrap();
    for _ in 0..2 {
        let refused = enrolment.enrol(0, &[0; 16], key(1));
        assert_eq!(refused, Err(Refusal::Unavailable));
    }
    // Beside another trouble both are told.
    let invitations = folder.join(INVITATIONS);
    let whole = std::fs::read_to_string(&invitations).unwrap();
    std::fs::write(&invitations, format!("{whole}no line\n")).unwrap();
    let told = enrolment.trouble();
    assert!(
        told.len() == 2 && told[0].contains(INVITATIONS) && told[1].contains(ENROLLED),
        "{told:?}"
    );
    assert!(enrolment.trouble().is_empty());
    std::fs::write(&invitations, whole).unwrap();
    std::fs::remove_dir(&list).unwrap();
    enrolment.enrol(0, &[0; 16], key(1)).unwrap();
    assert!(enrolment.trouble().is_empty());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_token_is_good_for_one_key_and_a_revoked_slot_for_none() {
    let folder = std::env::temp_dir().join(format!("sordino-net-enrolment-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let enrolment = Enrolment::open(&folder).unwrap();
    assert_eq!(
        enrolment.enrol(3, &[1; 16], key(1)),
        Err(Refusal::NotInvited)
    );
    // Invited while the server runs.
    invite(&folder, 3, Some(&[1; 16]), Offer::default()).unwrap();
    invite(
        &folder,
        4,
        Some(&[2; 16]),
        Offer {
            next: Some(key(9)),
            ..Offer::default()
        },
    )
    .unwrap();
    assert_eq!(without_key(&folder, key(9)).unwrap(), BTreeSet::from([3]));
    assert_eq!(
        enrolment.enrol(3, &[2; 16], key(1)),
        Err(Refusal::NotInvited)
    );
    assert_eq!(enrolment.enrol(3, &[1; 16], key(1)), Ok(()));
    assert_eq!(
        enrolment.enrol(3, &[1; 16], key(1)),
        Ok(()),
        "the same key again"
    );
    assert_eq!(
        enrolment.enrol(3, &[1; 16], key(2)),
        Err(Refusal::Taken),
        "another key"
    );
    assert_eq!(
        enrolment.enrol(4, &[2; 16], key(1)),
        Err(Refusal::Taken),
        "one key, two slots"
    );
    assert_eq!(
        (
            enrolment.slot(&key(1)),
            enrolment.slot(&key(2)),
            enrolment.count()
        ),
        (Some(3), None, 1)
    );
    // A line that was cut off was never acted upon.
    let torn = std::fs::read_to_string(folder.join(ENROLLED)).unwrap() + "{\"slot\":9";
    std::fs::write(folder.join(ENROLLED), torn).unwrap();
    let again = Enrolment::open(&folder).unwrap();
    assert_eq!(again.slot(&key(1)), Some(3));
    again.enrol(4, &[2; 16], key(5)).unwrap();
    assert_eq!(
        Enrolment::open(&folder).unwrap().slot(&key(5)),
        Some(4),
        "it swallows no other line"
    );
    revoke(&folder, 3).unwrap();
    again.refresh().unwrap();
    assert_eq!((again.slot(&key(1)), again.count()), (None, 1));
    assert_eq!(
        without_key(&folder, key(8)).unwrap(),
        BTreeSet::from([4]),
        "who is shut out need know no key"
    );
    assert_eq!(
        (again.certified(7), again.certified(3)),
        (Ok(()), Err(Refusal::Revoked))
    );
    assert_eq!(again.count(), 2);
    assert_eq!(again.enrol(3, &[1; 16], key(1)), Err(Refusal::Revoked));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_invitation_ends_and_one_made_again_takes_the_slot_once() {
    let folder = std::env::temp_dir().join(format!("sordino-net-again-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let enrolment = Enrolment::open(&folder).unwrap();
    let until = Offer {
        until: Some(1000),
        ..Offer::default()
    };
    let again = Offer {
        again: true,
        ..Offer::default()
    };
    invite(&folder, 0, Some(&[1; 16]), until).unwrap();
    invite(&folder, 1, Some(&[2; 16]), until).unwrap();
    assert_eq!(enrolment.enrol_at(0, &[1; 16], key(1), None, 1000), Ok(()));
    assert_eq!(
        enrolment.enrol_at(0, &[1; 16], key(1), None, 5000),
        Ok(()),
        "who has come may come again"
    );
    assert_eq!(
        enrolment.enrol_at(1, &[2; 16], key(2), None, 1001),
        Err(Refusal::Over)
    );
    assert_eq!(
        enrolment.enrol_at(1, &[2; 16], key(2), None, 999),
        Ok(()),
        "a clock that was put back"
    );
    // The site of slot 0 lost its folder.
    assert_eq!(
        enrolment.enrol_at(0, &[1; 16], key(3), None, 1),
        Err(Refusal::Taken)
    );
    invite(&folder, 0, Some(&[4; 16]), again).unwrap();
    assert_eq!(
        enrolment.enrol_at(0, &[4; 16], key(2), None, 1),
        Err(Refusal::Taken),
        "one key, two slots"
    );
    assert_eq!(enrolment.enrol_at(0, &[4; 16], key(3), None, 1), Ok(()));
    for known in [&enrolment, &Enrolment::open(&folder).unwrap()] {
        assert_eq!(
            (known.slot(&key(1)), known.slot(&key(3)), known.count()),
            (None, Some(0), 2)
        );
        assert_eq!(known.enrol_at(0, &[4; 16], key(3), None, 1), Ok(()));
        assert_eq!(
            known.enrol_at(0, &[4; 16], key(5), None, 1),
            Err(Refusal::Taken),
            "the token is used"
        );
        assert_eq!(
            known.enrol_at(0, &[1; 16], key(1), None, 1),
            Err(Refusal::Taken),
            "the lost key"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Of two lines that were added at one time after one that was cut off, each took the other for it.
#[test]
fn lines_of_many_writers_are_all_there() {
    let folder = std::env::temp_dir().join(format!("sordino-net-lines-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    for turn in 0..20 {
        std::fs::write(folder.join(REVOKED), "{\"slot\":1").unwrap();
        std::thread::scope(|scope| {
            for slot in 0..8 {
                let folder = &folder;
                scope.spawn(move || revoke(folder, slot).unwrap());
            }
        });
        let mut slots: Vec<u32> = lines::<Revoked>(&folder.join(REVOKED))
            .unwrap()
            .iter()
            .map(|line| line.slot)
            .collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..8).collect::<Vec<_>>(), "{turn}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Every line that was added read the whole list under its lock. Of these files nothing but the end
/// can be read: what comes before is longer than any memory.
#[test]
fn a_line_is_added_to_a_list_of_any_length_whose_end_alone_is_read() {
    let folder = std::env::temp_dir().join(format!("sordino-net-long-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(REVOKED);
    let long: u64 = 1 << 42;
    let line = "{\"slot\":7}\n";
    let torn = "x".repeat(3 * BLOCK as usize);
    for cut_off in ["", "{\"slot\":1", &torn] {
        drop(std::fs::remove_file(&path));
        let file = File::create(&path).unwrap();
        file.set_len(long).unwrap();
        file.write_all_at(format!("\n{cut_off}").as_bytes(), long)
            .unwrap();
        revoke(&folder, 7).unwrap();
        let len = path.metadata().unwrap().len();
        assert_eq!(len, long + 1 + line.len() as u64, "{cut_off}");
        let mut last = vec![0; line.len() + 1];
        let file = File::open(&path).unwrap();
        file.read_exact_at(&mut last, long).unwrap();
        assert_eq!(last, format!("\n{line}").as_bytes());
    }
    // A file of one line that was cut off.
    for cut_off in ["{", &torn] {
        std::fs::write(&path, cut_off).unwrap();
        revoke(&folder, 7).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), line);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Who has joined is counted as it is listed, whatever came first.
#[test]
fn joined_agents_are_counted_once() {
    let enrolment = Enrolment::in_memory();
    for slot in 0..4 {
        enrolment.admit(slot, &[slot as u8; 16]);
    }
    let enrol = |slot: u32| enrolment.enrol(slot, &[slot as u8; 16], key(slot as u8));
    // A key before a certificate, a certificate before a key, and one of each.
    assert_eq!((enrol(0), enrolment.certified(0)), (Ok(()), Ok(())));
    assert_eq!((enrolment.certified(1), enrol(1)), (Ok(()), Ok(())));
    assert_eq!((enrol(2), enrolment.certified(3)), (Ok(()), Ok(())));
    assert_eq!((enrolment.count(), enrolment.slots().len()), (4, 4));
    // Slot 9 never came.
    enrolment.lists().revoked = [1, 3, 9].into();
    assert_eq!(enrolment.count(), 2);
    assert_eq!(enrolment.slots(), BTreeSet::from([0, 2]));
}

/// With two servers a certificate brings the key of the masks, which stays and is nobody else's.
#[test]
fn a_certificate_brings_the_key_of_its_masks_once_and_takes_part_with_no_other() {
    let folder = std::env::temp_dir().join(format!("sordino-net-certified-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let open = || {
        Enrolment::open(&folder)
            .unwrap()
            .trusting(Trust::TwoServers)
    };
    let enrolment = open();
    let masks = |byte| Some(MaskKey([byte; 32]));
    assert_eq!(
        enrolment.certified(3),
        Err(Refusal::Masks),
        "before its masks are known"
    );
    assert_eq!(enrolment.enrol_certified(3, None), Err(Refusal::Masks));
    assert_eq!(enrolment.enrol_certified(3, masks(1)), Ok(()));
    assert_eq!(
        enrolment.enrol_certified(3, masks(1)),
        Ok(()),
        "the same again"
    );
    assert_eq!(
        enrolment.enrol_certified(3, masks(2)),
        Err(Refusal::Masks),
        "another key opens nothing"
    );
    assert_eq!(
        enrolment.enrol_certified(4, masks(1)),
        Err(Refusal::Masks),
        "one mask for two agents"
    );
    // After a restart, without a second line.
    let again = open();
    assert_eq!(
        (again.certified(3), again.certified(4)),
        (Ok(()), Err(Refusal::Masks))
    );
    assert_eq!(again.enrol_certified(3, masks(1)), Ok(()));
    assert_eq!(again.masks(&[3, 4]), [(3, MaskKey([1; 32]))]);
    assert_eq!(
        std::fs::read_to_string(folder.join(ENROLLED))
            .unwrap()
            .lines()
            .count(),
        1
    );
    revoke(&folder, 3).unwrap();
    again.refresh().unwrap();
    assert_eq!(again.enrol_certified(3, masks(1)), Err(Refusal::Revoked));
    // Negative control: with one server there are no masks to bring.
    let one = Enrolment::open(&folder).unwrap();
    assert_eq!(
        (
            one.enrol_certified(5, None),
            one.enrol_certified(6, masks(6))
        ),
        (Ok(()), Err(Refusal::Masks))
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A server that cannot read who was shut out says so and goes on with the others; a helper answers
/// nothing.
#[test]
fn a_damaged_line_of_those_shut_out_is_an_error_to_whoever_asks_for_all() {
    let folder = std::env::temp_dir().join(format!("sordino-net-damaged-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    assert_eq!(all_revoked(&folder).unwrap(), BTreeSet::new());
    revoke(&folder, 3).unwrap();
    assert_eq!(all_revoked(&folder).unwrap(), BTreeSet::from([3]));
    let path = folder.join(REVOKED);
    let damaged = std::fs::read_to_string(&path).unwrap() + "{\"sl\n";
    std::fs::write(&path, damaged).unwrap();
    assert_eq!(revoked(&folder).unwrap(), BTreeSet::from([3]));
    assert!(matches!(
        all_revoked(&folder),
        Err(EnrolmentError::Line { line: 2, .. })
    ));
    std::fs::remove_dir_all(folder).unwrap();
}
